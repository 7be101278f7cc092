import type { AiProvider } from '../../../adapters/models/provider.ts'
import {
  findServiceCredential,
  type ServiceCredentialDeps,
} from '../../people/service-credentials/service-credentials.ts'
import type { OpenProvider } from '../own-keys/own-keys.ts'

/** A provider that can be configured, and the key that the settings of the operator give it, which may change. */
export type ConfigurableProvider = { id: string; baseUrl: string; apiKey: string | undefined }

/** Everyone who is asked with a key of the house: the settings count before what an administrator has given. */
export type ServiceProviders = {
  /** Live: it is always the same list, whose entries change. */
  all: AiProvider[]
  known: readonly ConfigurableProvider[]
  sourceOf(id: string): 'environment' | 'dashboard' | null
  /** Reads anew what the settings and an administrator give each. Calls under way end with whom they were begun. */
  reload(): void
}

type Deps = ServiceCredentialDeps & {
  /** Those that need no key, and any that take the place of a configurable one. */
  providers: readonly AiProvider[]
  known: readonly ConfigurableProvider[]
  openProvider: OpenProvider
}

type Opened = { apiKey: string; provider: AiProvider }

export function createServiceProviders(deps: Deps): ServiceProviders {
  const { known, providers } = deps
  const all: AiProvider[] = []
  const isReplaced = (id: string) => providers.some((provider) => provider.id === id)
  let opened = new Map<string, Opened>()
  const openOne = ({ id, apiKey: configured }: ConfigurableProvider): Opened | null => {
    const apiKey = isReplaced(id) ? null : (configured ?? findServiceCredential(deps, toCredentialName(id)))
    if (apiKey === null) return null
    const before = opened.get(id)
    if (before?.apiKey === apiKey) return before
    const provider = deps.openProvider(id, apiKey)
    return provider && { apiKey, provider }
  }
  const reload = () => {
    opened = new Map(
      known.flatMap((one) => {
        const found = openOne(one)
        return found ? [[one.id, found] as const] : []
      }),
    )
    all.splice(0, all.length, ...[...opened.values()].map(({ provider }) => provider), ...providers)
  }
  reload()
  return {
    all,
    known,
    sourceOf(id) {
      if (isReplaced(id)) return 'environment'
      if (!opened.has(id)) return null
      return known.find((one) => one.id === id)?.apiKey === undefined ? 'dashboard' : 'environment'
    },
    reload,
  }
}

/** Where the key of a provider is kept. */
export function toCredentialName(id: string): string {
  return `provider-${id}`
}
