import { createSealer, isSameSecret, type Sealer } from '../../../core/secrets.ts'
import { type Db, hasTable, type Tx } from '../../../db/open.ts'
import { listSealed, opens } from './places.ts'
import { sealing } from './tables.ts'

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
