import type { AiProvider } from '../../../adapters/models/provider.ts'
import {
  findServiceCredential,
  type ServiceCredentialDeps,
} from '../../people/service-credentials/service-credentials.ts'
import type { OpenProvider } from '../own-keys/own-keys.ts'

/** A provider that can be configured, and the key that the settings of the operator give it. */
export type ConfigurableProvider = { id: string; baseUrl: string; apiKey: string | undefined }

/** Everyone who is asked with a key of the house: the settings count before what an administrator has given. */
export type ServiceProviders = {
  /** Live: it is always the same list, whose entries change. */
  all: AiProvider[]
  known: readonly ConfigurableProvider[]
  sourceOf(id: string): 'environment' | 'dashboard' | null
  /** Reads anew what was given for it. Calls under way end with whom they were begun. */
  reload(id: string): void
}

type Deps = ServiceCredentialDeps & {
  /** Those of the settings, and those that need no key. */
  providers: readonly AiProvider[]
  known: readonly ConfigurableProvider[]
  openProvider: OpenProvider
}

export function createServiceProviders(deps: Deps): ServiceProviders {
  const { known } = deps
  const all = [...deps.providers]
  const configured = new Set(deps.providers.map(({ id }) => id))
  const given = new Set<string>()
  const reload = (id: string) => {
    if (configured.has(id)) return
    const index = all.findIndex((provider) => provider.id === id)
    if (index !== -1) all.splice(index, 1)
    given.delete(id)
    const apiKey = findServiceCredential(deps, toCredentialName(id))
    const provider = apiKey === null ? null : deps.openProvider(id, apiKey)
    if (!provider) return
    all.push(provider)
    given.add(id)
  }
  for (const { id } of known) reload(id)
  return {
    all,
    known,
    sourceOf: (id) => (configured.has(id) ? 'environment' : given.has(id) ? 'dashboard' : null),
    reload,
  }
}

/** Where the key of a provider is kept. */
export function toCredentialName(id: string): string {
  return `provider-${id}`
}
