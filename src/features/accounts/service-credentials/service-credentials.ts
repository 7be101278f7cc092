import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { serviceCredentials } from './tables.ts'

export type ServiceCredentialDeps = { db: Db; sealer: Sealer }

/** What was given for the service; null without anything. */
export function findServiceCredential({ db, sealer }: ServiceCredentialDeps, name: string): string | null {
  const row = db.select().from(serviceCredentials).where(eq(serviceCredentials.name, name)).get()
  return row ? sealer.unseal(row.sealedValue, purposeOf(name)) : null
}

/** The services that something was given for. Their values stay sealed, so no key is needed to know. */
export function listServiceCredentials(db: Db): string[] {
  return db
    .select({ name: serviceCredentials.name })
    .from(serviceCredentials)
    .all()
    .map(({ name }) => name)
}

/** Keeps it sealed, in the caller's closure. */
export function setServiceCredential(
  { clock, sealer }: { clock: Clock; sealer: Sealer },
  tx: Tx,
  name: string,
  value: string,
): void {
  const row = { name, sealedValue: sealer.seal(value, purposeOf(name)), updatedAt: clock.now() }
  tx.insert(serviceCredentials).values(row).onConflictDoUpdate({ target: serviceCredentials.name, set: row }).run()
}

/** Forgets it, in the caller's closure. */
export function forgetServiceCredential(tx: Tx, name: string): void {
  tx.delete(serviceCredentials).where(eq(serviceCredentials.name, name)).run()
}

function purposeOf(name: string): SealPurpose {
  return `service_credentials:${name}`
}
