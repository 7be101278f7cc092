import type { WebPaths } from 'stead/client'
import { type ZodType, z } from 'zod'
import { createSteadClient } from './stead-client.ts'

const ErrorBody = z.object({
  error: z.string(),
  code: z.string().optional(),
  current: z.number().optional(),
  limit: z.number().optional(),
})

/** `code` is machine-readable, such as `TWO_FACTOR_REQUIRED`. */
type RefusalFacts = {
  code?: string | undefined
  current?: number | undefined
  limit?: number | undefined
  requestId?: string | null | undefined
}

/** `status` is 0 when the server was not reached; `message` is for people. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string | null
  readonly current: number | null
  readonly limit: number | null
  /** Id for finding the request in the server log; null without a response. */
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

const PATIENCE_MS = 20_000

export const api = createSteadClient<WebPaths, never, never>({ web: '', fetch: within(PATIENCE_MS) }).web

/** Parses the response with `schema`. @throws ApiError as `within`, and for an unexpected shape; rethrows aborts. */
export async function request<T>(
  schema: ZodType<T>,
  answer: Promise<{ data?: unknown; response: Response }>,
): Promise<T> {
  const { data, response } = await answer.catch(toUnreadable)
  const parsed = schema.safeParse(data)
  if (parsed.success) return parsed.data
  throw new ApiError(response.status, 'The server sent an unexpected response. Reload the page and try again.')
}

/** @throws ApiError as `send`, and after `timeoutMs`. */
export function within(timeoutMs: number): (asked: Request) => Promise<Response> {
  return (asked) => send(asked, AbortSignal.any([asked.signal, AbortSignal.timeout(timeoutMs)]))
}

/** @throws ApiError for an error response and for an unreachable server. */
export async function send(asked: Request, signal: AbortSignal = asked.signal): Promise<Response> {
  const response = await fetch(asked, { signal }).catch(toUnreached)
  if (!response.ok) throw await toApiError(response)
  return response
}

export function inPath<Places>(path: Places) {
  return { params: { path } }
}

/** Request options that send `file` as the raw body. */
export function asBytes(file: Blob) {
  return {
    body: file,
    bodySerializer: (body: unknown) => body,
    headers: { 'content-type': 'application/octet-stream' },
  }
}

/** A truncated response, or text instead of JSON, such as a proxy's error page. */
function toUnreadable(error: unknown) {
  if (error instanceof ApiError || isAbort(error)) throw error
  return { data: undefined, response: new Response() }
}

function toUnreached(error: unknown): never {
  if (isAbort(error)) throw error
  const reason =
    error instanceof DOMException && error.name === 'TimeoutError' ? 'took too long to respond' : 'cannot be reached'
  throw new ApiError(0, `The Stead server ${reason}. Check that it is running and you are online, then try again.`)
}

export async function toApiError(response: Response): Promise<ApiError> {
  const body = ErrorBody.safeParse(await response.json().catch(() => null))
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
  const hint =
    response.status === 429 && wait > 0 ? ` Try again in ${wait === 1 ? 'a second' : `${wait} seconds`}.` : ''
  // The 401 message of the session guard is for programs.
  const isTelling = body.success && !(response.status === 401 && body.data.error === 'Unauthorized')
  const message = isTelling ? body.data.error : messageOf(response.status)
  return new ApiError(response.status, hint && !/[.!?]$/.test(message) ? `${message}.${hint}` : message + hint, {
    ...body.data,
    requestId: response.headers.get('x-request-id'),
  })
}

/** Returns whether `error` is a response with this `code`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.code === code
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

export function messageFor(error: unknown): string {
  if (!(error instanceof ApiError)) return 'Something went wrong on this page. Reload it and try again.'
  // A NOT_CONFIGURED message already says what to set.
  const isAccident = error.status >= 500 && error.code !== 'NOT_CONFIGURED'
  if (!isAccident || error.requestId === null) return error.message
  const sentence = /[.!?]$/.test(error.message) ? error.message : `${error.message}.`
  return `${sentence} If this continues, contact your administrator with request ID ${error.requestId}`
}

function messageOf(status: number): string {
  if (status === 401) return 'You are signed out. Sign in in another tab, then try again. Your input is kept here.'
  if (status === 404) return 'Not found, or you do not have access.'
  if (status === 429) return 'Too many requests.'
  return `The server returned an error (${status}). Try again in a moment.`
}
