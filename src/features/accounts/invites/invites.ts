import { randomBytes } from 'node:crypto'
import { and, desc, eq, gte, isNull, lt, type SQL, sql } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { recordAudit } from '../audit/audit.ts'
import { NO_PLAN, requirePlan } from '../plans/plans.ts'
import { users } from '../users/tables.ts'
import type { Invite } from './schemas.ts'
import { type InviteRow, invites } from './tables.ts'

/** 80 bits, so codes cannot be guessed. */
const CODE_BYTES = 10

/**
 * Creates an invitation for one sign-up and returns its code, which is not stored. Without a `plan` the new account
 * gets the default one.
 * @throws AppError `invalid` for an unknown plan.
 */
export async function createInvite(deps: Base, createdBy: string, plan: string | null = null): Promise<string> {
  const code = randomBytes(CODE_BYTES).toString('hex')
  const now = deps.clock.now()
  await write(deps.db, (tx) => {
    const codeHash = hashInvite(code)
    if (plan !== null && plan !== NO_PLAN.name) requirePlan(tx, plan)
    tx.insert(invites).values({ codeHash, createdBy, createdAt: now, plan }).run()
    const target = `invite:${codeHash.slice(0, 16)}`
    recordAudit(tx, { actor: createdBy, action: 'invite.create', target, detail: plan === null ? {} : { plan } }, now)
  })
  return code
}

const MAX_LISTED = 100
/** The id of an invitation: the first 16 digits of its hash, which cannot be used as a code. */
const shownId = sql<string>`substr(${invites.codeHash}, 1, 16)`

/** Returns the newest 100 invitations of all admins. */
export function listInvites(db: Db): Invite[] {
  const rows = db
    .select({
      id: shownId,
      createdBy: sql<string>`coalesce(${users.email}, ${invites.createdBy})`,
      createdAt: invites.createdAt,
      usedAt: invites.usedAt,
      plan: invites.plan,
    })
    .from(invites)
    .leftJoin(users, eq(users.id, invites.createdBy))
    .orderBy(desc(invites.createdAt), desc(invites.codeHash))
    .limit(MAX_LISTED)
    .all()
  return rows.map(({ createdAt, usedAt, ...row }) => ({
    ...row,
    createdAt: createdAt.toISOString(),
    usedAt: usedAt?.toISOString() ?? null,
  }))
}

/** Withdraws an unused invitation. @throws AppError `not_found`, also when it was used in the meantime. */
export async function withdrawInvite(deps: Base, actor: string, id: string): Promise<void> {
  await write(deps.db, (tx) => {
    const isIt = and(isShownAs(id), isNull(invites.usedAt))
    if (tx.delete(invites).where(isIt).run().changes === 0) throw new AppError('not_found', 'Invitation not found')
    recordAudit(tx, { actor, action: 'invite.withdraw', target: `invite:${id}` }, deps.clock.now())
  })
}

/** Compares a range of the indexed hash: hex digits sort between the id and `~`. */
function isShownAs(id: string): SQL | undefined {
  return and(eq(shownId, id), gte(invites.codeHash, id), lt(invites.codeHash, `${id}~`))
}

/** 20 hex digits in either case. */
const CODE = /^[0-9a-f]{20}$/i

/** Uses up a code: exactly one of several concurrent callers gets the invitation, the others get null. */
export function redeemInvite(tx: Tx, code: string, now: Date): InviteRow | null {
  if (!CODE.test(code)) return null
  const isUnused = and(eq(invites.codeHash, hashInvite(code)), isNull(invites.usedAt))
  return tx.update(invites).set({ usedAt: now }).where(isUnused).returning().all()[0] ?? null
}

/** Returns the invitation that `redeemInvite` would use up. */
export function findInvite(db: Db, code: string): InviteRow | null {
  if (!CODE.test(code)) return null
  const isUnused = and(eq(invites.codeHash, hashInvite(code)), isNull(invites.usedAt))
  return db.select().from(invites).where(isUnused).get() ?? null
}

/** 80 random bits need no slow hash. */
function hashInvite(code: string): string {
  return sha256(code.toLowerCase())
}
