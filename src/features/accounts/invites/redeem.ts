import { and, eq, isNull } from 'drizzle-orm'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { type InviteRow, invites } from './tables.ts'

/** 20 hex digits, written in either case. */
const CODE = /^[0-9a-f]{20}$/i

/** Uses the code up: of any number of concurrent callers exactly one gets the invitation, the others null. */
export function redeemInvite(tx: Tx, code: string, now: Date): InviteRow | null {
  if (!CODE.test(code)) return null
  const isUnused = and(eq(invites.codeHash, hashInvite(code)), isNull(invites.usedAt))
  return tx.update(invites).set({ usedAt: now }).where(isUnused).returning().all()[0] ?? null
}

/** Returns the invitation that `redeemInvite` would take now. */
export function findInvite(db: Db, code: string): InviteRow | null {
  if (!CODE.test(code)) return null
  const isUnused = and(eq(invites.codeHash, hashInvite(code)), isNull(invites.usedAt))
  return db.select().from(invites).where(isUnused).get() ?? null
}

/** How a code is kept: 80 random bits need no slow hash. */
export function hashInvite(code: string): string {
  return sha256(code.toLowerCase())
}
