import { randomBytes } from 'node:crypto'
import { and, count, eq } from 'drizzle-orm'
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
