import { existsSync } from 'node:fs'
import type { Config } from '../core/config.ts'
import { hasTable, openForReading, toDb } from '../db/open.ts'
import { listServiceCredentials, MAIL } from '../features/accounts/service-credentials/service-credentials.ts'
import { toCredentialName, toCustomIds } from '../features/ai/gateway/providers.ts'

type Source = 'environment' | 'dashboard'

/** Lists the configured services and their source: settings override the dashboard. */
export type KnownServices = { mail: Source | null; providers: { id: string; source: Source }[] }

/** Reads only the names, so it needs no key. Returns none for a missing, older or damaged database. */
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
    // The command that opens the database for its work reports the fault.
    return []
  } finally {
    sqlite?.close()
  }
}
