import { z } from 'zod'
import type { AiProvider } from '../../../adapters/models/provider.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { CustomProvider } from '../../../core/settings/custom-providers.ts'
import type { Db } from '../../../db/open.ts'
import {
  findServiceCredential,
  listServiceCredentials,
} from '../../accounts/service-credentials/service-credentials.ts'
import type { OpenProvider } from '../own-keys/own-keys.ts'
import type { ProviderHealth } from './schemas.ts'

/** A built-in provider, with the API key of the operator's settings. */
type ConfigurableProvider = { id: string; baseUrl: string; apiKey: string | undefined }

type Source = 'environment' | 'dashboard'

/** Providers that use the platform's keys. Settings of the operator override those of the dashboard. */
export type ServiceProviders = {
  /** A live list: the array stays the same, its entries change. */
  all: AiProvider[]
  known: readonly ConfigurableProvider[]
  sourceOf(id: string): Source | null
  /** Lists custom providers and Ollama. */
  listCustom(): (CustomProvider & { source: Source })[]
  /** Reads settings and stored credentials again. Running calls keep their provider. */
  reload(): void
}

type Opened = { address: string; provider: AiProvider }

export function createServiceProviders(
  deps: { db: Db; sealer: Sealer } & {
    /** Providers without a key, and replacements of built-in ones. */
    providers: readonly AiProvider[]
    known: readonly ConfigurableProvider[]
    /** Custom providers of the settings. */
    custom: readonly CustomProvider[]
    openProvider: OpenProvider
  },
): ServiceProviders {
  const { known, providers } = deps
  const all: AiProvider[] = []
  const isReplaced = (id: string) => providers.some((provider) => provider.id === id)
  let opened = new Map<string, Opened>()
  let custom: (CustomProvider & { source: Source })[] = []

  const openOne = (id: string, apiKey: string | undefined, given?: CustomProvider): Opened | null => {
    const address = `${given?.baseUrl ?? ''} ${given?.dialects.join() ?? ''} ${apiKey ?? ''}`
    const before = opened.get(id)
    if (before?.address === address) return before
    const provider = deps.openProvider(id, apiKey ?? '', given)
    return provider && { address, provider }
  }
  const openKnown = ({ id, apiKey: configured }: ConfigurableProvider): Opened | null => {
    const apiKey = isReplaced(id) ? null : (configured ?? findServiceCredential(deps, toCredentialName(id)))
    return apiKey === null ? null : openOne(id, apiKey)
  }
  const readCustom = () => {
    const given = deps.custom.map((provider) => ({ ...provider, source: 'environment' as const }))
    const isGiven = (id: string) => isReplaced(id) || given.some((provider) => provider.id === id)
    const kept = listKeptProviders(deps).filter(({ id }) => !isGiven(id))
    return [...given, ...kept.map((provider) => ({ ...provider, source: 'dashboard' as const }))]
  }
  const reload = () => {
    custom = readCustom()
    const found = [
      ...known.map((one) => [one.id, openKnown(one)] as const),
      ...custom.map((one) => [one.id, openOne(one.id, one.apiKey, one)] as const),
    ]
    opened = new Map(found.flatMap(([id, one]) => (one ? [[id, one] as const] : [])))
    all.splice(0, all.length, ...[...opened.values()].map(({ provider }) => provider), ...providers)
  }
  reload()
  return {
    all,
    known,
    sourceOf(id) {
      if (isReplaced(id)) return 'environment'
      if (!opened.has(id)) return null
      const given = custom.find((one) => one.id === id)
      if (given) return given.source
      return known.find((one) => one.id === id)?.apiKey === undefined ? 'dashboard' : 'environment'
    },
    listCustom: () => custom,
    reload,
  }
}

/** Name of the credential that stores a provider's key. */
export function toCredentialName(id: string): string {
  return `provider-${id}`
}

const CUSTOM_PREFIX = 'custom-provider-'

/** Name of the credential that stores a custom provider. */
export function toCustomName(id: string): string {
  return `${CUSTOM_PREFIX}${id}`
}

/** Returns the ids of the custom providers among the names of credentials. */
export function toCustomIds(names: readonly string[]): string[] {
  return names.flatMap((name) => (name.startsWith(CUSTOM_PREFIX) ? [name.slice(CUSTOM_PREFIX.length)] : []))
}

const KeptProvider = z.object({ baseUrl: z.string(), apiKey: z.string().optional(), label: z.string().optional() })
export type KeptProvider = z.infer<typeof KeptProvider>

/** Lists the custom providers of the dashboard, by id. */
function listKeptProviders(deps: { db: Db; sealer: Sealer }): CustomProvider[] {
  return toCustomIds(listServiceCredentials(deps.db))
    .sort()
    .flatMap((id) => {
      const kept = findServiceCredential(deps, toCustomName(id))
      if (kept === null) return []
      const { baseUrl, apiKey, label = null } = KeptProvider.parse(JSON.parse(kept))
      return [{ id, baseUrl, apiKey, label, dialects: ['chat'] }]
    })
}

const CACHE_MS = 30_000
const PROBE_TIMEOUT_MS = 5000

/** Requests the model list of each provider at most every 30 s. Healthy means at least one provider, and all answer. */
export function createAiHealth(deps: { providers: AiProvider[]; log: Log }): () => Promise<ProviderHealth> {
  let answer: Promise<ProviderHealth> | undefined
  let askedAt = 0
  return () => {
    if (!answer || performance.now() - askedAt > CACHE_MS) {
      askedAt = performance.now()
      answer = probeAll(deps)
    }
    return answer
  }
}

async function probeAll(deps: { providers: AiProvider[]; log: Log }): Promise<ProviderHealth> {
  const answers = await Promise.all(
    deps.providers.map(async (provider) => [provider.id, await isAnswering(provider, deps.log)] as const),
  )
  const isHealthy = answers.length > 0 && answers.every(([, isUp]) => isUp)
  return { status: isHealthy ? 'healthy' : 'degraded', providers: Object.fromEntries(answers) }
}

async function isAnswering(provider: AiProvider, log: Log): Promise<boolean> {
  try {
    await provider.listModels(AbortSignal.timeout(PROBE_TIMEOUT_MS))
    return true
  } catch (error) {
    log.warn({ provider: provider.id, error: errorMessage(error) }, 'AI provider is not healthy')
    return false
  }
}
