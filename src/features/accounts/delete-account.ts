import { eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Enqueue } from '../../jobs/queue.ts'
import { recordAudit } from '../administration/audit.ts'
import { agents } from '../agents/tables.ts'
import { enqueueRemoval } from '../deployments/delete.ts'
import { enqueueEmptyTrash } from '../deployments/trash.ts'
import { abandonStreams } from '../radio/abandon.ts'
import { confirmPassword } from './confirm-password.ts'
import type { Passwords } from './passwords.ts'
import { requireRecentSignIn } from './recent-sign-in.ts'
import type { DeleteAccountRequest } from './schemas.ts'
import { users } from './tables.ts'

/** Takes the name off what is kept of a deleted account; `jobs.ts` does it. */
export const FORGET_JOB = 'accounts.forget'

export type DeleteAccountDeps = { db: Db; clock: Clock; passwords: Passwords; enqueue: Enqueue }

/**
 * Deletes the account with everything that belongs to it: sessions, keys, linked identities, agents, messages. What runs
 * for its agents is removed by jobs, and so is its name from records that stay (usage, audit log).
 * @throws AppError `invalid` when `confirm` is not the account's address or the password is missing, `unauthenticated`
 * for a wrong password, or without a recent sign-in when there is none; `not_found`.
 */
export async function deleteAccount(
  deps: DeleteAccountDeps,
  caller: { userId: string; sessionToken: string | undefined },
  { confirm, password }: DeleteAccountRequest,
): Promise<void> {
  const user = deps.db.select().from(users).where(eq(users.id, caller.userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
  if (confirm !== user.email) throw new AppError('invalid', 'Type your email address to confirm')
  if (user.passwordHash === null) requireRecentSignIn(deps, user.id, caller.sessionToken)
  await confirmPassword(deps, user, { password, sessionToken: caller.sessionToken })
  await write(deps.db, (tx) => removeAccount(tx, deps, user.id))
}

/** The rows of other tables go with the account's: they refer to it. */
function removeAccount(tx: Tx, { clock, enqueue }: DeleteAccountDeps, userId: string): void {
  const owned = tx.delete(agents).where(eq(agents.ownerId, userId)).returning().all()
  for (const agent of owned) enqueueRemoval({ enqueue }, tx, agent)
  enqueueEmptyTrash({ enqueue }, tx, userId)
  abandonStreams(tx, enqueue, userId)
  tx.delete(users).where(eq(users.id, userId)).run()
  enqueue(tx, FORGET_JOB, { userId }, { key: `forget:${userId}` })
  // The id names nobody any more; neither address nor e-mail is kept.
  recordAudit(tx, { actor: userId, action: 'account.deleted', target: userId }, clock.now())
}
