import { createSealer } from '../../core/secrets.ts'
import { findDamage } from '../../db/copy.ts'
import { hasTable, type openForReading, toDb } from '../../db/open.ts'
import { findKeyProblem } from '../../features/accounts/encryption/master-key.ts'
import { findClosed } from '../../features/accounts/encryption/sealed-values.ts'
import type { Manifest } from './manifest.ts'

/** What is wrong with a database and with `key` for it, in words, and of which version it is. */
export function examineDatabase(
  sqlite: ReturnType<typeof openForReading>,
  key: string | null,
): { problems: string[]; schema: Manifest['schema'] } {
  const damage = findDamage(sqlite)
  if (damage !== null) return { problems: [damage], schema: { version: 0, migration: null } }
  const keyProblem = describeKey(sqlite, key)
  return { problems: keyProblem === null ? [] : [keyProblem], schema: readSchema(sqlite) }
}

function describeKey(sqlite: ReturnType<typeof openForReading>, key: string | null): string | null {
  const db = toDb(sqlite)
  const problem = findKeyProblem(db, key)
  if (problem === 'missing') return 'its encryption key is missing'
  if (problem === 'wrong') return 'the encryption key is not the one that it was sealed with'
  if (key === null) return null
  const closed = findClosed(db, createSealer(key))
  return closed && `${closed} cannot be opened with the encryption key`
}

function readSchema(sqlite: ReturnType<typeof openForReading>): Manifest['schema'] {
  if (!hasTable(toDb(sqlite), 'migrations')) return { version: 0, migration: null }
  const names = sqlite.prepare<[], { name: string }>('SELECT name FROM migrations ORDER BY name').all()
  return { version: names.length, migration: names.at(-1)?.name ?? null }
}
