import { type AiProvider, ProviderError } from './provider.ts'

/** One of several API keys of a provider; a key with the double weight gets the double share of calls. */
type WeightedKey = { key: string; weight: number }

const MAX_KEYS = 50
const MAX_WEIGHT = 1000
/** Rejected keys rarely recover within seconds. */
const REJECTED_REST_MS = 60_000
const LIMITED_REST_MS = 10_000

/** Parses `key`, `key, key` and `key*weight, key*weight`. Text that is not such a list is one key. */
export function parseWeightedKeys(text: string): WeightedKey[] {
  const keys = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseKey)
  return keys.length > 1 && keys.length <= MAX_KEYS ? keys : [parseKey(text.trim())]
}

function parseKey(text: string): WeightedKey {
  const at = text.lastIndexOf('*')
  const weight = at > 0 && /^\d{1,4}$/.test(text.slice(at + 1)) ? Number(text.slice(at + 1)) : null
  if (weight === null || weight < 1 || weight > MAX_WEIGHT) return { key: text, weight: 1 }
  return { key: text.slice(0, at), weight }
}

type Share = { provider: AiProvider; weight: number; credit: number; restsUntil: number }

/**
 * Distributes the calls of a provider over its keys by weight. A key that is rejected or rate-limited is paused, and
 * the call, which has cost nothing, is repeated with another key. `nowMs` must be monotonic.
 */
export function distributeOverKeys(
  keys: readonly WeightedKey[],
  open: (key: string) => AiProvider,
  nowMs: () => number,
): AiProvider {
  const shares = keys.map(({ key, weight }): Share => ({ provider: open(key), weight, credit: 0, restsUntil: 0 }))
  const [first] = shares
  if (!first) throw new Error('A provider needs at least one key')
  if (shares.length === 1) return first.provider

  const withKey = async <T>(call: (provider: AiProvider) => Promise<T>): Promise<T> => {
    const tried = new Set<Share>()
    for (;;) {
      const share = choose(shares, tried, nowMs())
      tried.add(share)
      try {
        return await call(share.provider)
      } catch (error) {
        const restMs = toRestMs(error)
        if (restMs !== null) share.restsUntil = nowMs() + restMs
        if (restMs === null || tried.size === shares.length) throw error
      }
    }
  }
  return {
    ...first.provider,
    complete: (request, signal) => withKey((provider) => provider.complete(request, signal)),
    stream: (request, signal) => withKey((provider) => provider.stream(request, signal)),
    countTokens: (request, signal) =>
      withKey(async (provider) => (await provider.countTokens?.(request, signal)) ?? null),
    embed: (request, signal) => withKey((provider) => provider.embed(request, signal)),
    listModels: (signal) => withKey((provider) => provider.listModels(signal)),
    async tryKey(signal) {
      for (const { provider } of shares) await provider.tryKey(signal)
    },
  }
}

/**
 * Chooses by smooth weighted round robin among the keys that are not paused, or among all untried ones when every key
 * is paused.
 */
function choose(shares: readonly Share[], tried: ReadonlySet<Share>, now: number): Share {
  const untried = shares.filter((share) => !tried.has(share))
  const ready = untried.filter(({ restsUntil }) => restsUntil <= now)
  const candidates = ready.length > 0 ? ready : untried
  const total = candidates.reduce((sum, { weight }) => sum + weight, 0)
  for (const share of candidates) share.credit += share.weight
  const chosen = candidates.reduce((best, share) => (share.credit > best.credit ? share : best))
  chosen.credit -= total
  return chosen
}

/** Returns how long a key is paused after an error; null for an error that another key would return too. */
function toRestMs(error: unknown): number | null {
  if (!(error instanceof ProviderError) || error.isSpent) return null
  if (error.failure === 'credentials') return REJECTED_REST_MS
  return error.failure === 'limited' ? (error.retryAfterMs ?? LIMITED_REST_MS) : null
}
