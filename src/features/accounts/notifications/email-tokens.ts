import { and, eq, gt, inArray, lte } from 'drizzle-orm'
import { randomText } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Base } from '../../base.ts'
import { emailTokens } from '../users/tables.ts'

export type EmailToken = typeof emailTokens.$inferSelect
export type EmailTokenPurpose = EmailToken['purpose']

/** 43 of 62 characters: 256 bits. */
const TOKEN_LENGTH = 43
const HOUR_MS = 3_600_000
/** Lifetime of the link for the first password of an account that an administrator created. */
export const FIRST_PASSWORD_MS = 7 * 24 * HOUR_MS
const LIFETIMES_MS: Readonly<Record<EmailTokenPurpose, number>> = {
  'reset-password': HOUR_MS,
  'verify-email': 24 * HOUR_MS,
  'change-email': 24 * HOUR_MS,
}

/**
 * Creates and returns the token of a mailed link, and ends earlier links of the same purpose. Only the hash is stored.
 */
export function issueEmailToken(
  tx: Tx,
  link: { userId: string; purpose: EmailTokenPurpose; email: string },
  now: Date,
  lifetimeMs = LIFETIMES_MS[link.purpose],
): string {
  endEmailTokens(tx, link.userId, link.purpose)
  const token = randomText(TOKEN_LENGTH)
  const expiresAt = new Date(now.getTime() + lifetimeMs)
  tx.insert(emailTokens)
    .values({ ...link, tokenHash: sha256(token), expiresAt })
    .run()
  return token
}

/** Returns a valid token's row without using the token up. */
export function findEmailToken(
  db: Db,
  token: string,
  purposes: readonly EmailTokenPurpose[],
  now: Date,
): EmailToken | null {
  return (
    db
      .select()
      .from(emailTokens)
      .where(isValid(token, purposes, now))
      .get() ?? null
  )
}

/** Uses a token up: exactly one of several concurrent callers gets it. */
export function takeEmailToken(
  tx: Tx,
  token: string,
  purposes: readonly EmailTokenPurpose[],
  now: Date,
): EmailToken | null {
  return (
    tx
      .delete(emailTokens)
      .where(isValid(token, purposes, now))
      .returning()
      .get() ?? null
  )
}

/** Deletes the tokens of an account, or those of one purpose. */
export function endEmailTokens(tx: Tx, userId: string, purpose?: EmailTokenPurpose): void {
  const those = purpose === undefined ? undefined : eq(emailTokens.purpose, purpose)
  tx.delete(emailTokens)
    .where(and(eq(emailTokens.userId, userId), those))
    .run()
}

/** Returns the address an account is about to change to, until its link expires. */
export function findPendingEmail(db: Db, userId: string, now: Date): string | null {
  const isPending = and(
    eq(emailTokens.userId, userId),
    eq(emailTokens.purpose, 'change-email'),
    gt(emailTokens.expiresAt, now),
  )
  return db.select({ email: emailTokens.email }).from(emailTokens).where(isPending).get()?.email ?? null
}

export async function deleteExpiredEmailTokens({ db, clock }: Base, signal: AbortSignal): Promise<void> {
  await deleteInBatches(db, emailTokens, lte(emailTokens.expiresAt, clock.now()), signal)
}

function isValid(token: string, purposes: readonly EmailTokenPurpose[], now: Date) {
  return and(
    eq(emailTokens.tokenHash, sha256(token)),
    inArray(emailTokens.purpose, [...purposes]),
    gt(emailTokens.expiresAt, now),
  )
}
