import { eq } from 'drizzle-orm'
import type { Tx } from '../../db/open.ts'
import { endEmailTokens } from '../accounts/email-tokens.ts'
import { endSessions } from '../accounts/sessions.ts'
import { users } from '../accounts/tables.ts'
import { removeTwoFactor } from '../accounts/two-factor.ts'
import { apiKeys } from '../keys/tables.ts'
import { identities, wallets } from './tables.ts'

/**
 * Takes every way into an account away from whoever made it, in the closure that gives it to the one who proved its
 * address: password, second factor, sessions, keys, mailed links, providers and wallets.
 */
export function takeOver(tx: Tx, userId: string, now: Date): void {
  tx.update(users).set({ passwordHash: null, updatedAt: now }).where(eq(users.id, userId)).run()
  removeTwoFactor(tx, userId, now)
  endSessions(tx, userId)
  endEmailTokens(tx, userId)
  tx.delete(apiKeys).where(eq(apiKeys.userId, userId)).run()
  tx.delete(identities).where(eq(identities.userId, userId)).run()
  tx.delete(wallets).where(eq(wallets.userId, userId)).run()
}
