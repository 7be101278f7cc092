import type { AiProvider, ListedProviderModel } from '../../../adapters/models/provider.ts'
import { AppError } from '../../../core/errors.ts'
import { type CustomProvider, PROVIDER_ID, RESERVED_PROVIDER_IDS } from '../../../core/settings/custom-providers.ts'
import type { KeptProvider, ServiceProviders } from '../../ai/gateway/providers.ts'
import { type OpenProvider, tryKey, tryProvider } from '../../ai/own-keys/own-keys.ts'
import type { ProviderRequest, ProviderTest } from './schemas.ts'

const TRIAL_MS = 10_000
const MAX_SHOWN_MODELS = 20
/** Ollama's default address. */
const OLLAMA_URL = 'http://127.0.0.1:11434/v1'
const PROBE_MS = 300

/** Validates the id of a custom provider. @throws AppError `invalid`. */
export function requireCustomId(id: string): void {
  if (!PROVIDER_ID.test(id) || (RESERVED_PROVIDER_IDS.includes(id) && id !== 'ollama')) {
    throw new AppError(
      'invalid',
      `${id} cannot be the name of a provider: lower-case letters, digits and dashes, and none of ${RESERVED_PROVIDER_IDS.join(', ')}`,
    )
  }
}

/**
 * Tests a provider: it must list its models and accept its key. A URL without a path is also tried with `/v1`. An
 * omitted key means the stored one, if the host is unchanged.
 * @returns the provider to store and its models.
 * @throws AppError `invalid` CREDENTIALS_REFUSED, and errors of a provider that cannot be reached.
 */
export async function tryCustomProvider(
  { serviceProviders, openProvider }: { serviceProviders: ServiceProviders; openProvider: OpenProvider },
  id: string,
  request: ProviderRequest,
): Promise<{ kept: KeptProvider; models: ListedProviderModel[] }> {
  const before = serviceProviders.listCustom().find((one) => one.id === id)
  const baseUrl = request.baseUrl ?? before?.baseUrl
  if (baseUrl === undefined) throw new AppError('not_found', 'There is no such provider')
  const apiKey = request.apiKey ?? storedKey(before, baseUrl)
  const label = request.label ?? before?.label ?? ''
  const open = (address: string) => {
    const provider = openProvider(id, apiKey, { baseUrl: address, dialects: ['chat'] })
    if (!provider) throw new AppError('not_found', 'There is no such provider')
    return provider
  }
  const found = await listAtEither(open, baseUrl)
  if (apiKey !== '') await tryKey(found.provider, TRIAL_MS)
  const kept = { baseUrl: found.baseUrl, ...(apiKey && { apiKey }), ...(label && { label }) }
  return { kept, models: found.models }
}

/** Returns the models that a test found. */
export function toProviderTest({ kept, models }: Awaited<ReturnType<typeof tryCustomProvider>>): ProviderTest {
  const names = models.map(({ id }) => id)
  return { baseUrl: kept.baseUrl, count: names.length, models: names.slice(0, MAX_SHOWN_MODELS) }
}

/** Looks for Ollama on this machine; returns null when none answers. */
export async function findOllama(openProvider: OpenProvider, baseUrl = OLLAMA_URL) {
  try {
    const models = await openProvider('ollama', '', { baseUrl, dialects: ['chat'] })?.listModels(
      AbortSignal.timeout(PROBE_MS),
    )
    return models ? { baseUrl, models: models.length } : null
  } catch {
    return null
  }
}

/** A stored key must not be sent to another host when only the URL was edited. */
function storedKey(before: CustomProvider | undefined, baseUrl: string): string {
  const isSameHost = before !== undefined && new URL(before.baseUrl).origin === new URL(baseUrl).origin
  return isSameHost ? (before.apiKey ?? '') : ''
}

async function listAtEither(open: (baseUrl: string) => AiProvider, baseUrl: string) {
  const list = async (address: string) => {
    const provider = open(address)
    const models = await tryProvider(provider, TRIAL_MS, (signal) => provider.listModels(signal))
    return { provider, models, baseUrl: address }
  }
  if (new URL(baseUrl).pathname !== '/') return list(baseUrl)
  return list(baseUrl).catch((error) =>
    list(`${baseUrl}/v1`).catch(() => {
      throw error
    }),
  )
}
