import { type ZodType, z } from 'zod'

const ErrorBody = z.object({
  error: z.string(),
  code: z.string().optional(),
  current: z.number().optional(),
  limit: z.number().optional(),
})

/** What a refusal says besides its message. `code` is for programs, such as `TWO_FACTOR_REQUIRED`. */
type RefusalFacts = {
  code?: string | undefined
  current?: number | undefined
  limit?: number | undefined
  requestId?: string | null | undefined
}

/** A request that did not succeed. `status` is 0 when the server was not reached; `message` is a sentence for people. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string | null
  readonly current: number | null
  readonly limit: number | null
  /** Under which the operator finds the request in the log; null when there was no answer. */
  readonly requestId: string | null

  constructor(status: number, message: string, facts: RefusalFacts = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = facts.code ?? null
    this.current = facts.current ?? null
    this.limit = facts.limit ?? null
    this.requestId = facts.requestId ?? null
  }
}

export type RequestOptions = {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is, instead of `body`. */
  file?: Blob
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  timeoutMs?: number
}

/**
 * Asks our own API and parses the answer with `schema`.
 * @throws ApiError for a refusal, an unreachable server, a timeout or an answer of another shape; an abort by `signal` passes.
 */
export async function request<T>(schema: ZodType<T>, path: string, options: RequestOptions = {}): Promise<T> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? 20_000)
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout
  const response = await reach(path, { ...options, signal })
  if (!response.ok) throw await toApiError(response)
  const parsed = schema.safeParse(await response.json().catch(() => null))
  if (parsed.success) return parsed.data
  throw new ApiError(
    response.status,
    'The server sent an answer this page does not understand. Reload the page and try again.',
  )
}

/** Sends one request and returns the response whatever its status. @throws ApiError with status 0 when there is none. */
export async function reach(path: string, options: RequestOptions): Promise<Response> {
  const init: RequestInit = {
    method: options.method ?? 'GET',
    headers: { accept: 'application/json', ...options.headers },
  }
  if (options.signal) init.signal = options.signal
  if (options.body !== undefined) {
    init.body = JSON.stringify(options.body)
    init.headers = { ...init.headers, 'content-type': 'application/json' }
  }
  if (options.file) {
    init.body = options.file
    init.headers = { ...init.headers, 'content-type': 'application/octet-stream' }
  }
  try {
    return await fetch(path, init)
  } catch (error) {
    if (isAbort(error)) throw error
    const reason =
      error instanceof DOMException && error.name === 'TimeoutError' ? 'took too long to answer' : 'cannot be reached'
    throw new ApiError(
      0,
      `The Stead server ${reason}. Check that it is running and that you are online, then try again.`,
    )
  }
}

/** Reads the error body of a refused request. */
export async function toApiError(response: Response): Promise<ApiError> {
  const body = ErrorBody.safeParse(await response.json().catch(() => null))
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
  const hint =
    response.status === 429 && wait > 0 ? ` Try again in ${wait === 1 ? 'a second' : `${wait} seconds`}.` : ''
  const message = body.success ? body.data.error : messageOf(response.status)
  return new ApiError(response.status, hint && !/[.!?]$/.test(message) ? `${message}.${hint}` : message + hint, {
    ...body.data,
    requestId: response.headers.get('x-request-id'),
  })
}

/** Is this the refusal that the server marks with `code`? */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.code === code
}

/** Tells an abort we asked for from a failure. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

/** A sentence for people about anything that was thrown. */
export function messageFor(error: unknown): string {
  if (!(error instanceof ApiError)) return 'Something went wrong on this page. Reload it and try again.'
  // What is not set up is no accident: its message says what to set.
  const isAccident = error.status >= 500 && error.code !== 'NOT_CONFIGURED'
  if (!isAccident || error.requestId === null) return error.message
  const sentence = /[.!?]$/.test(error.message) ? error.message : `${error.message}.`
  return `${sentence} If it happens again, tell the operator of this request: ${error.requestId}`
}

function messageOf(status: number): string {
  if (status === 401) return 'Please sign in again.'
  if (status === 404) return 'This does not exist, or it is not yours.'
  if (status === 429) return 'Too many requests.'
  return `The server answered with an error (${status}). Try again in a moment.`
}
