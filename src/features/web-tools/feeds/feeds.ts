import type { Egress, EgressResponse } from '../../../adapters/egress/egress.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../core/config.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { parseBoundedJson } from '../../../core/json/bounded-json.ts'
import type { Base } from '../../base.ts'

const FRESH_MS = 5 * 60_000
/** How long the last answer is served, marked as stale, while its source fails. */
const STALE_MS = 60 * 60_000
/** Pause after a failure: the route is public and must not flood the source. */
const PAUSE_MS = 15_000
const TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024
/** Limits the JSON values of an answer, which is passed on unchanged. */
const MAX_VALUES = 300_000

type FeedSource = Config['feeds'][number]

/** The source's JSON, or its error status with the payment challenge of a 402. */
type FeedAnswer = { data: unknown; fetchedAt: Date; isStale: boolean } | { status: number; challenge: unknown }

export type Feeds = {
  ids: readonly string[]
  /**
   * Returns the source of a feed.
   * @throws AppError `unavailable` when no feed is configured, `invalid` for an unknown id.
   */
  get(id: string): FeedSource
  /**
   * Returns the source's answer.
   * @throws AppError `internal` when the source fails and there is no answer from the last hour.
   */
  read(url: string): Promise<FeedAnswer>
}

type Remembered = {
  answer?: { data: unknown; fetchedAt: Date }
  failedAt?: Date | undefined
  failure?: Failure | undefined
}
type Failure = { status: number; challenge: unknown } | AppError

/** Opens the configured data feeds; each is fetched at most every five minutes, with one request at a time. */
export function createFeeds(deps: Base & { egress: Egress; feeds: readonly FeedSource[] }): Feeds {
  const known = new Map<string, Remembered>()
  const underWay = new Map<string, Promise<Remembered>>()
  const isWithin = (time: Date | undefined, ms: number) => {
    const ageMs = time ? deps.clock.now().getTime() - time.getTime() : -1
    return ageMs >= 0 && ageMs < ms
  }

  const refresh = async (url: string): Promise<Remembered> => {
    const fresh = await ask(deps, url)
    known.set(url, { ...known.get(url), ...fresh })
    return known.get(url) ?? fresh
  }
  const refreshOnce = (url: string) => {
    const work = underWay.get(url) ?? refresh(url).finally(() => underWay.delete(url))
    underWay.set(url, work)
    return work
  }

  return {
    ids: deps.feeds.map(({ id }) => id),
    get(id) {
      if (deps.feeds.length === 0) {
        throw new AppError('unavailable', 'No data feeds are configured: set FEEDS', { code: 'NOT_CONFIGURED' })
      }
      const feed = deps.feeds.find((each) => each.id === id)
      if (!feed) throw new AppError('invalid', 'Unknown feed', { available: deps.feeds.map((each) => each.id) })
      return feed
    },
    async read(url) {
      const before = known.get(url)
      if (before?.answer && isWithin(before.answer.fetchedAt, FRESH_MS)) return { ...before.answer, isStale: false }
      const { answer, failure } = before && isWithin(before.failedAt, PAUSE_MS) ? before : await refreshOnce(url)
      if (answer && !failure) return { ...answer, isStale: false }
      if (answer && isWithin(answer.fetchedAt, STALE_MS)) return { ...answer, isStale: true }
      if (failure && 'status' in failure) return failure
      throw failure ?? new AppError('internal', 'Feed fetch failed')
    },
  }
}

async function ask(deps: Base & { egress: Egress }, url: string): Promise<Remembered> {
  try {
    const response = await deps.egress.request(url, {
      headers: { accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    })
    if (response.status < 200 || response.status >= 300) return await refuse(deps, response)
    const data = parseJson(await response.bytes())
    if (data === undefined) return fail(deps, 'The source did not answer with JSON')
    return { answer: { data, fetchedAt: deps.clock.now() }, failure: undefined, failedAt: undefined }
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    deps.log.warn({ host: new URL(url).host, cause: cause && errorMessage(cause) }, 'feed: the source failed')
    // The error's message contains the URL, which may hold a key.
    return fail(deps, 'The source gave no complete answer')
  }
}

async function refuse(deps: { clock: Clock }, response: EgressResponse): Promise<Remembered> {
  const isPaid = response.status === 402
  const challenge = isPaid ? (parseJson(await response.bytes()) ?? {}) : {}
  if (!isPaid) response.cancel()
  return { failure: { status: response.status, challenge }, failedAt: deps.clock.now() }
}

function fail(deps: { clock: Clock }, message: string): Remembered {
  return { failure: new AppError('internal', 'Feed fetch failed', { message }), failedAt: deps.clock.now() }
}

/** Returns undefined for bytes that are not JSON. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseBoundedJson(new TextDecoder().decode(bytes), MAX_VALUES)
  } catch {
    return undefined
  }
}
