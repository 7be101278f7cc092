import { isNotNull } from 'drizzle-orm'
import { createSealer, isSameSecret, type Sealer } from '../../core/secrets.ts'
import { type Db, hasTable, type Tx } from '../../db/open.ts'
import { users } from '../accounts/tables.ts'
import { agents } from '../agents/tables.ts'
import { providerKeys } from '../own-keys/tables.ts'
import { sealing } from './tables.ts'

/** Of a key that is not the one the database was sealed with, or of none beside a database that was. */
export type KeyProblem = 'wrong' | 'missing'

type Sample = { sealed: string; purpose: string }

/** What is wrong with `key` (null: there is none) for this database, which may be of any version; null when nothing is. */
export function findKeyProblem(db: Db, key: string | null): KeyProblem | null {
  const check = hasTable(db, 'sealing') ? db.select().from(sealing).get()?.keyCheck : undefined
  const sample = check === undefined ? findSample(db) : null
  if (check === undefined && sample === null) return null
  if (key === null) return 'missing'
  const sealer = createSealer(key)
  const isRight = check === undefined ? canOpen(sealer, sample) : isSameSecret(toKeyCheck(sealer), check)
  return isRight ? null : 'wrong'
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

/** Something that is sealed in a database of before they told their key from others. */
function findSample(db: Db): Sample | null {
  const agent = hasTable(db, 'agents') && db.select({ id: agents.id, sealed: agents.gatewayToken }).from(agents).get()
  if (agent) return { sealed: agent.sealed, purpose: `agents:gatewayToken:${agent.id}` }
  const { userId, provider, sealedKey: sealed } = providerKeys
  const own = hasTable(db, 'provider_keys') && db.select({ userId, provider, sealed }).from(providerKeys).get()
  if (own) return { sealed: own.sealed, purpose: `provider_keys:${own.userId}:${own.provider}` }
  const secret = { id: users.id, sealed: users.twoFactorSecret }
  const user = hasTable(db, 'users')
    ? db.select(secret).from(users).where(isNotNull(users.twoFactorSecret)).get()
    : undefined
  return user?.sealed ? { sealed: user.sealed, purpose: `users:twoFactorSecret:${user.id}` } : null
}

function canOpen(sealer: Sealer, sample: Sample | null): boolean {
  try {
    if (sample) sealer.open(sample.sealed, sample.purpose)
    return true
  } catch {
    return false
  }
}
