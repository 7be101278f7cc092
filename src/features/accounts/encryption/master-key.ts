import { eq } from 'drizzle-orm'
import { createSealer, isSameSecret, KEPT_KEYS, type KeptKey, type Sealer } from '../../../core/secrets.ts'
import { type Db, hasTable, type Tx } from '../../../db/open.ts'
import { listSealed, opens } from './sealed-values.ts'
import { keptKeys, sealing } from './tables.ts'

/** `wrong`: the database is sealed with another key. `missing`: the database is sealed and no key is given. */
export type KeyProblem = 'wrong' | 'missing'

/** Checks `key` against a database of any schema version. @returns null when the key fits. */
export function findKeyProblem(db: Db, key: string | null): KeyProblem | null {
  const check = hasTable(db, 'sealing') ? db.select().from(sealing).get()?.keyCheck : undefined
  if (check === undefined) return findProblemByTrying(db, key)
  if (key === null) return 'missing'
  return isSameSecret(toKeyCheck(createSealer(key)), check) ? null : 'wrong'
}

/** Tries the key on the first sealed value, for databases without a stored key check. */
function findProblemByTrying(db: Db, key: string | null): KeyProblem | null {
  const sample = listSealed(db).next().value
  if (!sample) return null
  if (key === null) return 'missing'
  return opens(createSealer(key), sample.sealed, sample.purpose) ? null : 'wrong'
}

/** Stores the check value of the key that seals the database from now on. */
export function noteKey(tx: Tx, sealer: Sealer): void {
  const keyCheck = toKeyCheck(sealer)
  tx.insert(sealing).values({ id: 1, keyCheck }).onConflictDoUpdate({ target: sealing.id, set: { keyCheck } }).run()
}

/** Derived for this purpose only, so the stored value cannot decrypt anything. */
function toKeyCheck(sealer: Sealer): string {
  return sealer.deriveKey('key-check').toString('hex')
}

/** Returns a derived key that stays the same when the master key is replaced. */
export function readKeptKey(db: Db, sealer: Sealer, name: KeptKey): Buffer {
  const row = db.select().from(keptKeys).where(eq(keptKeys.name, name)).get()
  return row ? Buffer.from(sealer.unseal(row.sealedKey, `kept_keys:${name}`), 'base64url') : sealer.deriveKey(name)
}

/** Stores a key unless it is kept already. */
export function keepKey(tx: Tx, sealer: Sealer, name: KeptKey, key: Buffer): void {
  const sealedKey = sealer.seal(key.toString('base64url'), `kept_keys:${name}`)
  tx.insert(keptKeys).values({ name, sealedKey }).onConflictDoNothing().run()
}

/** Stores the keys that must survive the replacement of the master key. */
export function keepKeys(tx: Tx, sealer: Sealer): void {
  for (const name of KEPT_KEYS) keepKey(tx, sealer, name, readKeptKey(tx, sealer, name))
}
