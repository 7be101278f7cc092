import { randomBytes } from 'node:crypto'
import { and, count, eq } from 'drizzle-orm'
import { Secret, TOTP } from 'otpauth'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { recoveryCodes } from '../users/tables.ts'

const CODES = 10
/** Crockford's unambiguous alphabet; 16 of 32 characters are 80 bits, so a SHA-256 hash is safe to store. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const CODE_LENGTH = 16

/** Returns ten codes of the form `xxxx-xxxx-xxxx-xxxx`. */
export function createRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, () => {
    const signs = Array.from(randomBytes(CODE_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length])
    return signs.join('').replace(/.{4}(?=.)/g, '$&-')
  })
}

/** Replaces the user's recovery codes. */
export function replaceRecoveryCodes(tx: Tx, userId: string, codes: string[]): void {
  tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId)).run()
  for (const code of codes) {
    tx.insert(recoveryCodes)
      .values({ codeHash: hashCode(code), userId })
      .run()
  }
}

/** Uses a code up. @returns false for an unknown or used code. */
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

/** Ignores case, hyphens and spaces, and maps look-alikes as Crockford's Base32 does. */
function hashCode(code: string): string {
  return sha256(code.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1'))
}

const PERIOD_SECONDS = 30
const DIGITS = 6
/** RFC 4226, 4 recommends 160 bits. */
const SECRET_BYTES = 20
/** RFC 6238, 5.2: at most one step of drift either way. */
const DRIFT_STEPS = 1

/** Returns a new secret in Base32. */
export function createTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** Returns the `otpauth://` URI of the QR code; the authenticator shows `account`. */
export function totpUri(secret: string, account: string): string {
  return createTotp(secret, account).toString()
}

/** Returns the time step of `code`, or null when it matches none near `now`. */
export function findTotpStep(secret: string, code: string, now: Date): number | null {
  const timestamp = now.getTime()
  const drift = createTotp(secret, '').validate({ token: code, timestamp, window: DRIFT_STEPS })
  return drift === null ? null : Math.floor(timestamp / 1000 / PERIOD_SECONDS) + drift
}

function createTotp(secret: string, account: string): TOTP {
  return new TOTP({ issuer: 'Stead', label: account, secret, digits: DIGITS, period: PERIOD_SECONDS })
}
