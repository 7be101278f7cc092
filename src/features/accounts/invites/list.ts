import { and, desc, eq, gte, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../audit/audit.ts'
import { users } from '../users/tables.ts'
import type { Invite } from './schemas.ts'
import { invites } from './tables.ts'

const MAX_LISTED = 100
/** As the audit log names one: enough of the hash to tell it from others, and of no use as a code. */
const shownId = sql<string>`substr(${invites.codeHash}, 1, 16)`

/** The newest hundred of everybody's invitations. */
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

/** Takes back an invitation that nobody has used. @throws AppError `not_found`, also for one that was used meanwhile. */
export async function withdrawInvite(deps: { db: Db; clock: Clock }, actor: string, id: string): Promise<void> {
  await write(deps.db, (tx) => {
    const isIt = and(isShownAs(id), isNull(invites.usedAt))
    if (tx.delete(invites).where(isIt).run().changes === 0) throw new AppError('not_found', 'Invitation not found')
    recordAudit(tx, { actor, action: 'invite.withdraw', target: `invite:${id}` }, deps.clock.now())
  })
}

/** By the hash itself, whose index leads there: what follows an id in it are digits and small letters. */
function isShownAs(id: string): SQL | undefined {
  return and(eq(shownId, id), gte(invites.codeHash, id), lt(invites.codeHash, `${id}~`))
}
