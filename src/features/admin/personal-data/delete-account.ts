import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { deleteDependents } from '../../../db/in-batches.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { jobs } from '../../../jobs/tables.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { confirmPassword, type Passwords } from '../../accounts/passwords/passwords.ts'
import { endSessions, requireRecentSignIn } from '../../accounts/sessions/sessions.ts'
import { users } from '../../accounts/users/tables.ts'
import { enqueueRemoval } from '../../agents/deployments/delete.ts'
import { agents } from '../../agents/registry/tables.ts'
import { enqueueEmptyTrash } from '../../agents/snapshots/trash.ts'
import type { Base } from '../../base.ts'
import { enqueueRevocations } from '../../conversations/mcp-servers/revoke.ts'
import { enqueueEndOfSubscriptions } from '../../payments/cards/end.ts'
import { cardSubscriptions } from '../../payments/cards/tables.ts'
import { abandonStreams } from '../../web-tools/radio/streams.ts'
import { radioStreams } from '../../web-tools/radio/tables.ts'
import { forgetAccount } from './forget.ts'
import type { DeleteAccountRequest } from './schemas.ts'

/** Job that anonymizes the remaining records of a deleted account. */
export const FORGET_JOB = 'accounts.forget'
/** Delay after which a job finishes a deletion that the request did not complete. */
const TAKE_OVER_MS = 300_000

/**
 * Deletes an account with its sessions, keys, linked identities, agents and messages. Jobs remove the agents'
 * containers and anonymize the records that stay (usage, audit log). The account is closed at once; a job completes the
 * deletion after a crash.
 * @throws AppError `invalid` when `confirm` is not the account's address or the password is missing, `unauthenticated`
 * for a wrong password, or without a recent sign-in when the account has no password; `not_found`.
 */
export async function deleteAccount(
  deps: Base & { passwords: Passwords },
  caller: { userId: string; sessionToken: string | undefined },
  { confirm, password }: DeleteAccountRequest,
): Promise<void> {
  const user = deps.db.select().from(users).where(eq(users.id, caller.userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
  if (confirm !== user.email) throw new AppError('invalid', 'Type your email address to confirm')
  if (user.passwordHash === null) requireRecentSignIn(deps, user.id, caller.sessionToken)
  await confirmPassword(deps, user, { password, sessionToken: caller.sessionToken })
  await write(deps.db, (tx) => closeAccount(tx, deps, user.id))
  await eraseAccount(deps, user.id)
}

function closeAccount(tx: Tx, { clock, enqueue }: Base, userId: string): void {
  tx.update(users).set({ disabledAt: clock.now() }).where(eq(users.id, userId)).run()
  endSessions(tx, userId)
  const owned = tx.select({ id: agents.id }).from(agents).where(eq(agents.ownerId, userId)).all()
  for (const { id } of owned) enqueueRevocations(enqueue, tx, id)
  enqueue(tx, FORGET_JOB, { userId }, { key: forgetKey(userId), delayMs: TAKE_OVER_MS })
}

/**
 * Deletes the rows of a closed account in batches, the account last. Idempotent: a repeated call continues where the
 * previous one stopped.
 * @throws the reason of `signal`.
 */
export async function eraseAccount(deps: Base, userId: string, signal?: AbortSignal): Promise<void> {
  const { db } = deps
  const owned = db.select({ id: agents.id }).from(agents).where(eq(agents.ownerId, userId)).all()
  for (const { id } of owned) await deleteDependents(db, agents, id, { signal })
  // These rows have counterparts at other services; they are deleted in the transaction that queues the removal there.
  await deleteDependents(db, users, userId, { except: [agents, radioStreams, cardSubscriptions], signal })
  await write(db, (tx) => removeAccount(tx, deps, userId))
}

/** Rows added to other tables in the meantime are few and are deleted by their foreign keys. */
function removeAccount(tx: Tx, { clock, enqueue }: Base, userId: string): void {
  const owned = tx.delete(agents).where(eq(agents.ownerId, userId)).returning().all()
  for (const agent of owned) enqueueRemoval({ enqueue }, tx, agent)
  enqueueEmptyTrash({ enqueue }, tx, userId)
  abandonStreams(tx, enqueue, userId)
  enqueueEndOfSubscriptions(tx, enqueue, userId)
  const { changes } = tx.delete(users).where(eq(users.id, userId)).run()
  if (changes === 0) return
  // The id no longer identifies a user; the address is not stored.
  recordAudit(tx, { actor: userId, action: 'account.deleted', target: userId }, clock.now())
  tx.delete(jobs)
    .where(and(eq(jobs.key, forgetKey(userId)), eq(jobs.status, 'queued')))
    .run()
  enqueue(tx, FORGET_JOB, { userId }, { key: forgetKey(userId) })
}

function forgetKey(userId: string): string {
  return `forget:${userId}`
}

/** Anonymizes records in a job, so the user does not wait for a long history. First deletes rows that a crash left. */
export function forgetJob(deps: Base): JobKind {
  return defineJob({
    kind: FORGET_JOB,
    payload: z.object({ userId: z.string() }),
    async run({ userId }, signal) {
      await eraseAccount(deps, userId, signal)
      await forgetAccount(deps.db, userId, signal)
    },
  })
}
