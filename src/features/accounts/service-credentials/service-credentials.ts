import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { AccountRules } from '../users/users.ts'
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

export const MAIL = 'mail'

/** How mail leaves: `smtpUrl` may hold a password. */
const GivenMail = z.object({ smtpUrl: z.string(), from: z.string() })
type GivenMail = z.infer<typeof GivenMail>

/** The settings of the operator count before what an administrator has given. */
export type MailOptions = {
  read(): { smtpUrl: string | undefined; from: string }
  /** Who has said how mail leaves. */
  source(): 'environment' | 'dashboard' | null
  /** Reads anew what was given. */
  reload(): void
}

export function createMailOptions(
  deps: ServiceCredentialDeps,
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

function readGiven(deps: ServiceCredentialDeps): GivenMail | null {
  const value = findServiceCredential(deps, MAIL)
  return value === null ? null : GivenMail.parse(JSON.parse(value))
}

/** The rules of the house for what is no service that runs: mail that was given in the dashboard counts as it does there. */
export function readAccountRules(
  db: Db,
  { adminEmails, mail }: { adminEmails: readonly string[]; mail: { smtpUrl: string | undefined } },
): AccountRules {
  const requiresVerifiedEmail = mail.smtpUrl !== undefined || listServiceCredentials(db).includes(MAIL)
  return { adminEmails, requiresVerifiedEmail }
}
