import pRetry, { AbortError } from 'p-retry'
import type { z } from 'zod'
import { AppError } from '../core/errors.ts'
import { requestIdHeader } from '../core/request-id.ts'
import { PLATFORM_AWAY, readProblem, toAnswerError } from './platform-fetch.ts'

const TIMEOUT_MS = 10_000
/** A platform that is started again is back within a second or two. */
const RETRY = { retries: 4, minTimeout: 150, factor: 2, randomize: true }
/** What a proxy or a platform says that is being started again. */
const PASSING = new Set([502, 503, 504])

type Asked = {
  /** With its leading slash. */
  path: string
  method?: string
  query?: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
  timeoutMs?: number
  /** A call that must not be made twice, or whose failure may be somebody else's, is not tried again. */
  isOnce?: boolean
}

/**
 * Calls the platform with the agent's own token. @throws AppError `invalid`, `not_found`, `conflict` and `forbidden` in the
 * platform's words, `upstream_timeout`, `limited`, `upstream_failed`.
 */
export type PlatformCall = <Schema extends z.ZodType>(schema: Schema, asked: Asked) => Promise<z.infer<Schema>>

export function createPlatformCall(
  { platformUrl, platformToken }: { platformUrl: string; platformToken: string },
  plainFetch: typeof fetch,
): PlatformCall {
  const attempt = async <Schema extends z.ZodType>(schema: Schema, asked: Asked): Promise<z.infer<Schema>> => {
    const { method = 'GET', path, query = {}, body, signal, timeoutMs = TIMEOUT_MS } = asked
    const timeout = AbortSignal.timeout(timeoutMs)
    const response = await plainFetch(`${platformUrl}${path}?${new URLSearchParams(query)}`, {
      method,
      headers: {
        authorization: `Bearer ${platformToken}`,
        'content-type': 'application/json',
        ...requestIdHeader(),
      },
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error) => {
      if (signal?.aborted) throw new AbortError(toError(signal.reason))
      if (timeout.aborted) throw new AbortError(new AppError('upstream_timeout', 'The platform did not answer in time'))
      const extra = { code: PLATFORM_AWAY, wasReached: false }
      throw new AppError('upstream_failed', 'The platform cannot be reached', extra, { cause: error })
    })
    if (response.ok) return parseAnswer(schema, await response.text())
    const problem = await readProblem(response)
    if (PASSING.has(response.status)) throw toAnswerError(problem, response.status)
    throw new AbortError(toCallError(problem, response.status))
  }
  return (schema, asked) => pRetry(() => attempt(schema, asked), { ...RETRY, ...(asked.isOnce && { retries: 0 }) })
}

function parseAnswer<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    const message = 'The platform answered something unexpected'
    throw new AbortError(new AppError('upstream_failed', message, {}, { cause: error }))
  }
}

const OWN_MISTAKES = { 400: 'invalid', 403: 'forbidden', 404: 'not_found', 409: 'conflict' } as const

/** What the agent itself got wrong is told to its model in the platform's words. */
function toCallError(problem: Parameters<typeof toAnswerError>[0], status: number): AppError {
  const kind = Object.entries(OWN_MISTAKES).find(([known]) => Number(known) === status)?.[1]
  return kind ? new AppError(kind, problem.message) : toAnswerError(problem, status)
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
