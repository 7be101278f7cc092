import { eq } from 'drizzle-orm'
import { createSealer, isSameSecret, KEPT_KEYS, type KeptKey, type Sealer } from '../../../core/secrets.ts'
import { type Db, hasTable, type Tx } from '../../../db/open.ts'
import { listSealed, opens } from './sealed-values.ts'
import { keptKeys, sealing } from './tables.ts'

/** Of a key that is not the one the database was sealed with, or of none beside a database that was. */
export type KeyProblem = 'wrong' | 'missing'

/** What is wrong with `key` (null: there is none) for this database, which may be of any version; null when nothing is. */
export function findKeyProblem(db: Db, key: string | null): KeyProblem | null {
  const check = hasTable(db, 'sealing') ? db.select().from(sealing).get()?.keyCheck : undefined
  if (check === undefined) return findProblemByTrying(db, key)
  if (key === null) return 'missing'
  return isSameSecret(toKeyCheck(createSealer(key)), check) ? null : 'wrong'
}

/** A database of before they told their key from others is tried with the first value that is sealed in it. */
function findProblemByTrying(db: Db, key: string | null): KeyProblem | null {
  const sample = listSealed(db).next().value
  if (!sample) return null
  if (key === null) return 'missing'
  return opens(createSealer(key), sample.sealed, sample.purpose) ? null : 'wrong'
}

/** Notes which key the database is sealed with from now on. */
export function noteKey(tx: Tx, sealer: Sealer): void {
  const keyCheck = toKeyCheck(sealer)
  tx.insert(sealing).values({ id: 1, keyCheck }).onConflictDoUpdate({ target: sealing.id, set: { keyCheck } }).run()
}

/** Derived for this alone: nothing can be opened with it. */
function toKeyCheck(sealer: Sealer): string {
  return sealer.deriveKey('key-check').toString('hex')
}

/** A key that stays the same whatever becomes of the master key. */
export function readKeptKey(db: Db, sealer: Sealer, name: KeptKey): Buffer {
  const row = db.select().from(keptKeys).where(eq(keptKeys.name, name)).get()
  return row ? Buffer.from(sealer.unseal(row.sealedKey, `kept_keys:${name}`), 'base64url') : sealer.deriveKey(name)
}

/** Writes the keys that must outlive the master key of `sealer`, which is about to be replaced. */
export function keepKeys(tx: Tx, sealer: Sealer): void {
  for (const name of KEPT_KEYS) {
    const key = readKeptKey(tx, sealer, name).toString('base64url')
    const sealedKey = sealer.seal(key, `kept_keys:${name}`)
    tx.insert(keptKeys).values({ name, sealedKey }).onConflictDoNothing().run()
  }
}
