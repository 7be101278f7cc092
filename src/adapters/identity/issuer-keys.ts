import { type CryptoKey, createLocalJWKSet, errors, type FlattenedJWSInput, type JWSHeaderParameters } from 'jose'
import { z } from 'zod'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/lines.ts'
import { trimTrailing } from '../../core/text/trim.ts'
import { readJson } from '../egress/answers/read-text.ts'

/**
 * Finds the signing key for a token header's `kid`.
 * @throws AppError `unavailable` when keys cannot be fetched and none are cached; a jose error when no key matches.
 */
export type IssuerKeys = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>

/** Candidate URLs of the document that names `jwks_uri`, in order; a document may also be the key set itself. */
type IssuerLocation = { configurationUrls: readonly [string, ...string[]] }

/** Keys are cached for 24 hours. */
const CACHE_MS = 24 * 60 * 60_000
/** Limits refetches for unknown `kid` values, which may be forged. */
const COOLDOWN_MS = 30_000
/** Pause after a failed fetch with an empty cache. */
const FAILURE_PAUSE_MS = 5000
const TIMEOUT_MS = 5000

const Keys = z.object({ keys: listOf(z.looseObject({ kty: z.string() })) })
const Configuration = z.object({ jwks_uri: z.url({ protocol: /^https?$/ }) })

type Cached = { find: ReturnType<typeof createLocalJWKSet>; fetchedAt: number }

/** Loads an issuer's keys through its well-known configuration and ignores keys embedded in tokens. */
export function createIssuerKeys(location: IssuerLocation, deps: { fetch: typeof fetch; clock: Clock }): IssuerKeys {
  const now = () => deps.clock.now().getTime()
  let cached: Cached | undefined
  let triedAt = Number.NEGATIVE_INFINITY
  let pending: Promise<void> | undefined

  const refresh = async () => {
    triedAt = now()
    cached = { find: createLocalJWKSet(await fetchKeys(deps.fetch, location.configurationUrls)), fetchedAt: now() }
  }
  /** Concurrent callers share one fetch. */
  const refreshOnce = () => {
    pending ??= refresh().finally(() => {
      pending = undefined
    })
    return pending
  }
  const current = async (): Promise<Cached> => {
    if (cached && now() - cached.fetchedAt < CACHE_MS) return cached
    const mayTry = pending !== undefined || now() - triedAt >= FAILURE_PAUSE_MS
    if (mayTry) await refreshOnce().catch(refuse)
    if (!cached || now() - cached.fetchedAt >= CACHE_MS) return refuse('tried a moment ago')
    return cached
  }

  return async (header, token) => {
    if (!header.kid) throw new errors.JWKSNoMatchingKey()
    const known = await current()
    try {
      return await known.find(header, token)
    } catch (error) {
      const isNewKey = error instanceof errors.JWKSNoMatchingKey
      if (!isNewKey || (pending === undefined && now() - triedAt < COOLDOWN_MS)) throw error
      await refreshOnce().catch(() => undefined)
      return (cached ?? known).find(header, token)
    }
  }
}

/** Returns `<issuer>/.well-known/<name>`, with or without a trailing slash in `issuer`. */
export function wellKnownUrl(issuer: string, name: string): string {
  return `${trimTrailing(issuer, '/')}/.well-known/${name}`
}

async function fetchKeys(fetchFrom: typeof fetch, urls: IssuerLocation['configurationUrls']) {
  let problem: unknown
  for (const url of urls) {
    try {
      const document = await fetchJson(fetchFrom, url)
      const keys = Keys.safeParse(document)
      if (keys.success) return keys.data
      return Keys.parse(await fetchJson(fetchFrom, Configuration.parse(document).jwks_uri))
    } catch (error) {
      problem = error
    }
  }
  throw problem
}

async function fetchJson(fetchFrom: typeof fetch, url: string): Promise<unknown> {
  const response = await fetchFrom(url, {
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  return readJson(response)
}

function refuse(cause: unknown): never {
  throw new AppError('unavailable', 'The signing keys of the issuer cannot be fetched', {}, { cause })
}
