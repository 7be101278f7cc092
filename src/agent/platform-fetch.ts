import { z } from 'zod'
import { AppError } from '../core/errors.ts'
import { requestIdHeader } from '../core/request-id.ts'

const MAX_ERROR_BYTES = 64 * 1024
const END_OF_STREAM = /data:\s*\[DONE\]\s*$/

/** The code of an error that says nothing but that the platform is away. `wasReached`: it may have begun to answer. */
export const PLATFORM_AWAY = 'PLATFORM_AWAY'

/** How the system and Bun name a connection that was never made. */
const NEVER_CONNECTED = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'EHOSTUNREACH',
])

export function toAwayError(error: unknown): AppError {
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
export type PlatformError = z.infer<typeof ErrorBody>['error']

/**
 * A `fetch` for streamed completions that hands on only sound answers: an event stream that ends with `[DONE]` and is
 * never silent for `idleMs`. Everything else rejects, or breaks the body, with an AppError: `limited` with the platform's
 * words, `upstream_timeout`, `upstream_failed`.
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

/** What the platform said went wrong, in the words of this code base. Also for errors inside a stream. */
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

/** A connection that breaks, unlike an answer that just ends, is that of a platform which has ended. */
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

/** Passes bytes on and remembers the last few: a stream that just stops is not a finished answer. */
function createEndCheck(watch: IdleWatch): TransformStream<Uint8Array, Uint8Array> {
  let end = ''
  return new TransformStream({
    start(controller) {
      // An aborted fetch breaks its body with an error of the runtime's choosing: ours must be the first.
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

/** What an answer that is no success says of itself; its status when it says nothing that can be read. */
export async function readProblem(response: Response): Promise<PlatformError> {
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
