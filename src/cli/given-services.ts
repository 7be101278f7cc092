import { existsSync } from 'node:fs'
import type { Config } from '../core/config.ts'
import { hasTable, openForReading, toDb } from '../db/open.ts'
import { listServiceCredentials, MAIL } from '../features/accounts/service-credentials/service-credentials.ts'
import { toCredentialName, toCustomIds } from '../features/ai/gateway/providers.ts'

type Source = 'environment' | 'dashboard'

/** Which services can be used, and who said so: the settings count before what was given in the dashboard. */
export type KnownServices = { mail: Source | null; providers: { id: string; source: Source }[] }

/** Reads the names alone, so it needs no key and changes nothing. A database that is not there, older or damaged gives none. */
export function findServices({ ai, mail, databaseFile }: Pick<Config, 'ai' | 'mail' | 'databaseFile'>): KnownServices {
  const given = listGiven(databaseFile)
  const sourceOf = (configured: string | undefined, name: string): Source | null =>
    configured ? 'environment' : given.includes(name) ? 'dashboard' : null
  return {
    mail: sourceOf(mail.smtpUrl, MAIL),
    providers: [
      ...ai.providers.flatMap(({ id, apiKey }) => {
        const source = sourceOf(apiKey, toCredentialName(id))
        return source === null ? [] : [{ id, source }]
      }),
      ...ai.customProviders.map(({ id }) => ({ id, source: 'environment' as const })),
      ...toCustomIds(given)
        .filter((id) => !ai.customProviders.some((provider) => provider.id === id))
        .map((id) => ({ id, source: 'dashboard' as const })),
    ],
  }
}

function listGiven(databaseFile: string): string[] {
  if (!existsSync(databaseFile)) return []
  let sqlite: ReturnType<typeof openForReading> | undefined
  try {
    sqlite = openForReading(databaseFile)
    const db = toDb(sqlite)
    return hasTable(db, 'service_credentials') ? listServiceCredentials(db) : []
  } catch {
    // What is wrong with it is told by what opens it to work with it.
    return []
  } finally {
    sqlite?.close()
  }
}
