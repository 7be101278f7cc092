import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { CREDENTIALS, type CredentialKey } from './schemas.ts'
import { agentCredentials } from './tables.ts'

/** Which credentials are there; never what they are. */
export function listCredentials(db: Db, userId: string): Record<string, boolean> {
  const isOwn = eq(agentCredentials.userId, userId)
  const rows = db.select({ key: agentCredentials.key }).from(agentCredentials).where(isOwn).all()
  const known = new Set(rows.map(({ key }) => key))
  return Object.fromEntries(CREDENTIALS.map((key) => [key, known.has(key)]))
}

/** Keeps a credential sealed, or forgets it without a value. Returns whether there is one now. */
export async function setCredential(
  { db, clock, sealer }: { db: Db; clock: Clock; sealer: Sealer },
  userId: string,
  { key, value }: { key: CredentialKey; value?: string | undefined },
): Promise<boolean> {
  if (!value) {
    const isThis = and(eq(agentCredentials.userId, userId), eq(agentCredentials.key, key))
    await write(db, (tx) => tx.delete(agentCredentials).where(isThis).run())
    return false
  }
  const sealedValue = sealer.seal(value, `agent_credentials:${userId}:${key}`)
  const row = { userId, key, sealedValue, updatedAt: clock.now() }
  const target = [agentCredentials.userId, agentCredentials.key]
  await write(db, (tx) => tx.insert(agentCredentials).values(row).onConflictDoUpdate({ target, set: row }).run())
  return true
}

/** Forgets all credentials of a user, in the caller's closure. */
export function forgetCredentials(tx: Tx, userId: string): void {
  tx.delete(agentCredentials).where(eq(agentCredentials.userId, userId)).run()
}
