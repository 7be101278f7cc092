import { eq } from 'drizzle-orm'
import { KEPT_KEYS, type KeptKey, type Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { keptKeys } from './tables.ts'

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
