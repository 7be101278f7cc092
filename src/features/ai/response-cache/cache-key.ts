import { sha256 } from '../../../core/secrets.ts'

type Question = {
  userId: string
  /** Calls with different guardrails have different answers. */
  guardrails: unknown
  endpoint: string
  body: Readonly<Record<string, unknown>>
}

/** Fields that say who asks and how the call is routed or kept, and do not change the answer. */
const NOISE: ReadonlySet<string> = new Set([
  ...['user', 'metadata', 'safety_identifier', 'client_metadata', 'prompt_cache_key', 'prompt_cache_retention'],
  ...['service_tier', 'fallbacks', 'models', 'route'],
])

/** Returns the hash of a request and its owner, the same for every order of the top fields. */
export function toCacheKey({ userId, guardrails, endpoint, body }: Question): string {
  const fields = Object.entries(body)
    .filter(([name, value]) => !NOISE.has(name) && value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
  return sha256(JSON.stringify([userId, guardrails ?? null, endpoint, fields]))
}
