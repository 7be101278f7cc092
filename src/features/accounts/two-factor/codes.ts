import { randomBytes } from 'node:crypto'
import { and, count, eq } from 'drizzle-orm'
import { Secret, TOTP } from 'otpauth'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { recoveryCodes } from '../users/tables.ts'

const CODES = 10
/** 32 signs that nobody mixes up (Crockford); 16 of them are 80 bits, so SHA-256 is enough to keep them by. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const CODE_LENGTH = 16

/** Ten codes of the form `xxxx-xxxx-xxxx-xxxx`. */
export function createRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, () => {
    const signs = Array.from(randomBytes(CODE_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length])
    return signs.join('').replace(/.{4}(?=.)/g, '$&-')
  })
}

/** Stores `codes` in place of those the user had before. */
export function replaceRecoveryCodes(tx: Tx, userId: string, codes: string[]): void {
  tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId)).run()
  for (const code of codes) {
    tx.insert(recoveryCodes)
      .values({ codeHash: hashCode(code), userId })
      .run()
  }
}

/** Uses a code up; false when it is not one of the user's, or no longer. */
export function redeemRecoveryCode(tx: Tx, userId: string, code: string): boolean {
  const { changes } = tx
    .delete(recoveryCodes)
    .where(and(eq(recoveryCodes.codeHash, hashCode(code)), eq(recoveryCodes.userId, userId)))
    .run()
  return changes === 1
}

export function countRecoveryCodes(db: Db, userId: string): number {
  const row = db.select({ codes: count() }).from(recoveryCodes).where(eq(recoveryCodes.userId, userId)).get()
  return row?.codes ?? 0
}

/** Case, hyphens and space are for people, and so is what Crockford's alphabet leaves out. */
function hashCode(code: string): string {
  return sha256(code.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1'))
}

const PERIOD_SECONDS = 30
const DIGITS = 6
/** 160 bits, as RFC 4226 wants. */
const SECRET_BYTES = 20
/** RFC 6238, 5.2: at most one step of drift either way. */
const DRIFT_STEPS = 1

/** A new secret in Base32, as authenticators take it. */
export function createTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** The `otpauth://` address of the QR code; `account` is what the authenticator shows. */
export function totpUri(secret: string, account: string): string {
  return createTotp(secret, account).toString()
}

/** The time step that `code` belongs to, or null when it is of none near `now`. */
export function findTotpStep(secret: string, code: string, now: Date): number | null {
  const timestamp = now.getTime()
  const drift = createTotp(secret, '').validate({ token: code, timestamp, window: DRIFT_STEPS })
  return drift === null ? null : Math.floor(timestamp / 1000 / PERIOD_SECONDS) + drift
}

function createTotp(secret: string, account: string): TOTP {
  return new TOTP({ issuer: 'Stead', label: account, secret, digits: DIGITS, period: PERIOD_SECONDS })
}
