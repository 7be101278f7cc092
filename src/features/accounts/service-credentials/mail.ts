import { z } from 'zod'
import type { Db } from '../../../db/open.ts'
import type { AccountRules } from '../users/users.ts'
import { findServiceCredential, listServiceCredentials, type ServiceCredentialDeps } from './service-credentials.ts'

export const MAIL = 'mail'

/** How mail leaves: `smtpUrl` may hold a password. */
const GivenMail = z.object({ smtpUrl: z.string(), from: z.string() })
export type GivenMail = z.infer<typeof GivenMail>

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
