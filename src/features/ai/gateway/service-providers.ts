import { z } from 'zod'
import type { AiProvider } from '../../../adapters/models/provider.ts'
import type { CustomProvider } from '../../../core/settings/custom-providers.ts'
import {
  findServiceCredential,
  listServiceCredentials,
  type ServiceCredentialDeps,
} from '../../accounts/service-credentials/service-credentials.ts'
import type { OpenProvider } from '../own-keys/own-keys.ts'

/** A provider that can be configured, and the key that the settings of the operator give it, which may change. */
export type ConfigurableProvider = { id: string; baseUrl: string; apiKey: string | undefined }

type Source = 'environment' | 'dashboard'

/** Every provider that is asked with a key of the platform: the settings count before what an administrator has given. */
export type ServiceProviders = {
  /** Live: it is always the same list, whose entries change. */
  all: AiProvider[]
  known: readonly ConfigurableProvider[]
  sourceOf(id: string): Source | null
  /** The providers with an address of their own, and Ollama, by source. */
  listCustom(): (CustomProvider & { source: Source })[]
  /** Reads anew what the settings and an administrator give each. Calls under way end with whom they were begun. */
  reload(): void
}

type Deps = ServiceCredentialDeps & {
  /** Those that need no key, and any that take the place of a configurable one. */
  providers: readonly AiProvider[]
  known: readonly ConfigurableProvider[]
  /** Those of the settings, which may change. */
  custom: readonly CustomProvider[]
  openProvider: OpenProvider
}

type Opened = { address: string; provider: AiProvider }

export function createServiceProviders(deps: Deps): ServiceProviders {
  const { known, providers } = deps
  const all: AiProvider[] = []
  const isReplaced = (id: string) => providers.some((provider) => provider.id === id)
  let opened = new Map<string, Opened>()
  let custom: (CustomProvider & { source: Source })[] = []

  const openOne = (id: string, apiKey: string | undefined, baseUrl?: string): Opened | null => {
    const address = `${baseUrl ?? ''} ${apiKey ?? ''}`
    const before = opened.get(id)
    if (before?.address === address) return before
    const provider = deps.openProvider(id, apiKey ?? '', baseUrl)
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
      ...custom.map(({ id, apiKey, baseUrl }) => [id, openOne(id, apiKey, baseUrl)] as const),
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

/** Where the key of a provider is kept. */
export function toCredentialName(id: string): string {
  return `provider-${id}`
}

const CUSTOM_PREFIX = 'custom-provider-'

/** Where a custom provider is kept. */
export function toCustomName(id: string): string {
  return `${CUSTOM_PREFIX}${id}`
}

/** Returns the ids of the custom providers among the names of credentials. */
export function toCustomIds(names: readonly string[]): string[] {
  return names.flatMap((name) => (name.startsWith(CUSTOM_PREFIX) ? [name.slice(CUSTOM_PREFIX.length)] : []))
}

const KeptProvider = z.object({ baseUrl: z.string(), apiKey: z.string().optional(), label: z.string().optional() })
export type KeptProvider = z.infer<typeof KeptProvider>

/** Lists the custom providers that administrators gave, by id. */
function listKeptProviders(deps: ServiceCredentialDeps): CustomProvider[] {
  return toCustomIds(listServiceCredentials(deps.db))
    .sort()
    .flatMap((id) => {
      const kept = findServiceCredential(deps, toCustomName(id))
      if (kept === null) return []
      const { baseUrl, apiKey, label = null } = KeptProvider.parse(JSON.parse(kept))
      return [{ id, baseUrl, apiKey, label }]
    })
}
