import { and, eq, isNull } from 'drizzle-orm'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { invites } from './tables.ts'

/** 20 hex digits, written in either case. */
const CODE = /^[0-9a-f]{20}$/i

/** Uses the code up; of any number of callers at once exactly one is told true. */
export function redeemInvite(tx: Tx, code: string, now: Date): boolean {
  if (!CODE.test(code)) return false
  const { changes } = tx
    .update(invites)
    .set({ usedAt: now })
    .where(and(eq(invites.codeHash, hashInvite(code)), isNull(invites.usedAt)))
    .run()
  return changes === 1
}

/** Would `redeemInvite` take it now? */
export function isInviteUsable(db: Db, code: string): boolean {
  if (!CODE.test(code)) return false
  const row = db
    .select({ usedAt: invites.usedAt })
    .from(invites)
    .where(eq(invites.codeHash, hashInvite(code)))
    .get()
  return row?.usedAt === null
}

/** How a code is kept: 80 random bits need no slow hash. */
export function hashInvite(code: string): string {
  return sha256(code.toLowerCase())
}
