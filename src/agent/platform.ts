import pRetry, { AbortError } from 'p-retry'
import { z } from 'zod'
import { AppError } from '../core/errors.ts'
import { requestIdHeader } from '../core/request-id.ts'

const TIMEOUT_MS = 10_000
/** A restarting platform is back within one or two seconds. */
const RETRY = { retries: 4, minTimeout: 150, factor: 2, randomize: true }
/** Statuses of a proxy or platform that is restarting. */
const PASSING = new Set([502, 503, 504])

type Asked = {
  path: string
  method?: string
  query?: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
  timeoutMs?: number
  /** Disables retries, for calls that must not be repeated. */
  isOnce?: boolean
}

/**
 * Calls the platform with the agent's own token.
 * @throws AppError `invalid`, `not_found`, `conflict` and `forbidden` with the platform's message, `upstream_timeout`,
 * `limited`, `upstream_failed`.
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
      if (timeout.aborted) throw new AbortError(toTimeout(method))
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

/** A read that got no answer may be repeated, so a turn waits for the platform; a write may have been done. */
function toTimeout(method: string): AppError {
  const extra = method === 'GET' ? { code: PLATFORM_AWAY, wasReached: false } : {}
  return new AppError('upstream_timeout', 'The platform did not answer in time', extra)
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

/** Keeps the platform's message for client errors, because the model can correct them. */
function toCallError(problem: Parameters<typeof toAnswerError>[0], status: number): AppError {
  const kind = Object.entries(OWN_MISTAKES).find(([known]) => Number(known) === status)?.[1]
  return kind ? new AppError(kind, problem.message) : toAnswerError(problem, status)
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}

const MAX_ERROR_BYTES = 64 * 1024
const END_OF_STREAM = /data:\s*\[DONE\]\s*$/

/** Error code for an unreachable platform. `wasReached` in the error's data: the call may have had an effect. */
export const PLATFORM_AWAY = 'PLATFORM_AWAY'

/** Error codes of the system and of Bun for a connection that was never established. */
const NEVER_CONNECTED = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'EHOSTUNREACH',
])

function toAwayError(error: unknown): AppError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const extra = { code: PLATFORM_AWAY, wasReached: !NEVER_CONNECTED.has(code) }
  return new AppError('upstream_failed', 'The platform cannot be reached', extra, { cause: error })
}

const ErrorBody = z.object({
  reason: z.string().optional(),
  error: z.union([
    z.string().transform((message) => ({ message, type: undefined, code: undefined })),
    z.object({ message: z.string(), type: z.string().nullish(), code: z.union([z.string(), z.number()]).nullish() }),
  ]),
})
type PlatformError = z.infer<typeof ErrorBody>['error']

/**
 * Creates a `fetch` that returns only complete event streams: they end with `[DONE]` and are never silent for `idleMs`.
 * Any other response rejects, or fails the body.
 * @throws AppError `limited` with the platform's message, `upstream_timeout`, `upstream_failed`.
 */
export function createPlatformFetch(plainFetch: typeof fetch, idleMs: number): typeof fetch {
  const fetchSoundly = async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const watch = createIdleWatch(idleMs)
    const signal = init?.signal ? AbortSignal.any([init.signal, watch.signal]) : watch.signal
    try {
      const headers = new Headers(init?.headers)
      for (const [name, value] of Object.entries(requestIdHeader())) headers.set(name, value)
      const response = await plainFetch(input, { ...init, headers, signal, redirect: 'manual' })
      if (!response.ok) throw await toStatusError(response)
      return toCheckedResponse(response, watch)
    } catch (error) {
      watch.stop()
      if (error instanceof AppError || init?.signal?.aborted) throw error
      if (watch.signal.aborted) throw watch.signal.reason
      throw toAwayError(error)
    }
  }
  return Object.assign(fetchSoundly, { preconnect: plainFetch.preconnect })
}

/** Converts an error response, or an error event of a stream, to an AppError. */
export function toAnswerError(problem: PlatformError, status: number): AppError {
  const code = problem.code ? { code: problem.code } : {}
  if (status === 429 || problem.type === 'rate_limit_error') return new AppError('limited', problem.message, code)
  if (status === 401) return new AppError('upstream_failed', 'The platform refused the token of this agent')
  if (status === 408 || status === 504) return new AppError('upstream_timeout', problem.message, code)
  return new AppError('upstream_failed', problem.message, code)
}

type IdleWatch = { signal: AbortSignal; restart(): void; stop(): void }

function createIdleWatch(idleMs: number): IdleWatch {
  const controller = new AbortController()
  const expire = () => controller.abort(new AppError('upstream_timeout', 'The platform did not answer in time'))
  let timer = setTimeout(expire, idleMs)
  return {
    signal: controller.signal,
    restart() {
      clearTimeout(timer)
      timer = setTimeout(expire, idleMs)
    },
    stop: () => clearTimeout(timer),
  }
}

function toCheckedResponse(response: Response, watch: IdleWatch): Response {
  if (!response.body || !/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
    throw new AppError('upstream_failed', 'The platform answered something that is not a completion stream')
  }
  return new Response(namingBreaks(response.body).pipeThrough(createEndCheck(watch)), response)
}

/** Converts a broken connection to PLATFORM_AWAY; a stream that merely ends early is reported by `createEndCheck`. */
function namingBreaks(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        controller.error(error instanceof AppError ? error : toAwayError(error))
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** Fails a stream that ends without `[DONE]`. */
function createEndCheck(watch: IdleWatch): TransformStream<Uint8Array, Uint8Array> {
  let end = ''
  return new TransformStream({
    start(controller) {
      // An aborted fetch fails its body with a runtime error; this one must come first.
      watch.signal.addEventListener('abort', () => controller.error(watch.signal.reason), { once: true })
    },
    transform(chunk, controller) {
      watch.restart()
      end = (end + Buffer.from(chunk.subarray(-64)).toString('latin1')).slice(-64)
      controller.enqueue(chunk)
    },
    flush(controller) {
      watch.stop()
      if (!END_OF_STREAM.test(end)) controller.error(new AppError('upstream_failed', 'The model’s answer was cut off'))
    },
  })
}

async function toStatusError(response: Response): Promise<AppError> {
  return toAnswerError(await readProblem(response), response.status)
}

async function readProblem(response: Response): Promise<PlatformError> {
  const text = await readStart(response)
  const said = ErrorBody.safeParse(parseJson(text))
  if (said.success) {
    const { error, reason } = said.data
    return reason === undefined ? error : { ...error, message: `${error.message}: ${reason}` }
  }
  return { message: `The platform answered with status ${response.status}`, type: undefined, code: undefined }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

async function readStart(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    sizeBytes += chunk.byteLength
    if (sizeBytes > MAX_ERROR_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8')
}
