import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { AccountRules } from '../users/users.ts'
import { serviceCredentials } from './tables.ts'

/** Returns the stored credential of the service, or null. */
export function findServiceCredential({ db, sealer }: { db: Db; sealer: Sealer }, name: string): string | null {
  const row = db.select().from(serviceCredentials).where(eq(serviceCredentials.name, name)).get()
  return row ? sealer.unseal(row.sealedValue, purposeOf(name)) : null
}

/** Returns the names of services with a stored credential, without unsealing. */
export function listServiceCredentials(db: Db): string[] {
  return db
    .select({ name: serviceCredentials.name })
    .from(serviceCredentials)
    .all()
    .map(({ name }) => name)
}

/** Seals and stores the credential in the caller's transaction. */
export function setServiceCredential(
  { clock, sealer }: { clock: Clock; sealer: Sealer },
  tx: Tx,
  name: string,
  value: string,
): void {
  const row = { name, sealedValue: sealer.seal(value, purposeOf(name)), updatedAt: clock.now() }
  tx.insert(serviceCredentials).values(row).onConflictDoUpdate({ target: serviceCredentials.name, set: row }).run()
}

/** Deletes the credential in the caller's transaction. */
export function forgetServiceCredential(tx: Tx, name: string): void {
  tx.delete(serviceCredentials).where(eq(serviceCredentials.name, name)).run()
}

function purposeOf(name: string): SealPurpose {
  return `service_credentials:${name}`
}

export const MAIL = 'mail'

/** Mail settings entered in the dashboard; `smtpUrl` may contain a password. */
const GivenMail = z.object({ smtpUrl: z.string(), from: z.string() })
type GivenMail = z.infer<typeof GivenMail>

/** Mail settings; environment variables override those of the dashboard. */
export type MailOptions = {
  read(): { smtpUrl: string | undefined; from: string }
  /** Where the mail settings come from; null when mail is not configured. */
  source(): 'environment' | 'dashboard' | null
  /** Reads the settings of the dashboard again. */
  reload(): void
}

export function createMailOptions(
  deps: { db: Db; sealer: Sealer },
  configured: { smtpUrl: string | undefined; from: string },
): MailOptions {
  let given = readGiven(deps)
  return {
    read: () => (configured.smtpUrl === undefined && given ? given : configured),
    source: () => (configured.smtpUrl !== undefined ? 'environment' : given ? 'dashboard' : null),
    reload() {
      given = readGiven(deps)
    },
  }
}

function readGiven(deps: { db: Db; sealer: Sealer }): GivenMail | null {
  const value = findServiceCredential(deps, MAIL)
  return value === null ? null : GivenMail.parse(JSON.parse(value))
}

/** Returns the account rules for processes other than the server; mail settings of the dashboard count too. */
export function readAccountRules(
  db: Db,
  { adminEmails, mail }: { adminEmails: readonly string[]; mail: { smtpUrl: string | undefined } },
): AccountRules {
  const requiresVerifiedEmail = mail.smtpUrl !== undefined || listServiceCredentials(db).includes(MAIL)
  return { adminEmails, requiresVerifiedEmail }
}
