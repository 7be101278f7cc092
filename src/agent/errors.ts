import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { AppError, type ErrorKind, errorMessage } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { currentRequestId } from '../core/request-id.ts'

const FORMS: Readonly<Record<ErrorKind, { status: ContentfulStatusCode; type: string }>> = {
  invalid: { status: 400, type: 'invalid_request_error' },
  unauthenticated: { status: 401, type: 'unauthorized' },
  payment_required: { status: 402, type: 'insufficient_quota' },
  forbidden: { status: 403, type: 'forbidden' },
  not_found: { status: 404, type: 'not_found' },
  conflict: { status: 409, type: 'conflict' },
  too_slow: { status: 408, type: 'invalid_request_error' },
  too_large: { status: 413, type: 'invalid_request_error' },
  limited: { status: 429, type: 'rate_limit_error' },
  storage_full: { status: 507, type: 'insufficient_quota' },
  misconfigured: { status: 500, type: 'server_error' },
  internal: { status: 500, type: 'server_error' },
  undelivered: { status: 500, type: 'server_error' },
  upstream_failed: { status: 502, type: 'upstream_error' },
  unavailable: { status: 503, type: 'unavailable' },
  upstream_timeout: { status: 504, type: 'upstream_timeout' },
}

/** Returns every error in the OpenAI shape `{error: {message, type, …}}` and logs server failures. */
export function openAiErrorHandler(log: Log) {
  return (error: Error, c: Context) => {
    const known = toKnownError(error)
    const { status } = FORMS[known.kind]
    // A disconnected caller causes errors that are not failures of the agent.
    if (!c.req.raw.signal.aborted) logAgentFailure(log, c.req.path, known)
    return c.json(toErrorBody(known), status)
  }
}

/** Builds the body of an error, which is also the last event of a failed stream. */
export function toErrorBody(error: AppError) {
  return { error: { message: error.message, type: FORMS[error.kind].type, ...error.extra } }
}

/** Converts unexpected errors to `Internal error` and keeps their cause for the log. */
export function toKnownError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof HTTPException && error.status === 400) return new AppError('invalid', error.message)
  return new AppError('internal', 'Internal error', {}, { cause: error })
}

/** Logs failures as errors and an exhausted quota as a warning. Mistakes of callers are not logged. */
export function logAgentFailure(log: Log, path: string, error: AppError): void {
  const requestId = currentRequestId()
  if (error.kind === 'limited') log.warn({ requestId, path }, error.message)
  if (FORMS[error.kind].status < 500) return
  log.error({ requestId, path, kind: error.kind, cause: describe(error.cause), stack: stackOf(error) }, error.message)
}

function stackOf(error: AppError): string | undefined {
  const origin = error.kind === 'internal' && error.cause instanceof Error ? error.cause : undefined
  return origin?.stack
}

function describe(cause: unknown): string | undefined {
  if (cause === undefined) return undefined
  const deeper = cause instanceof Error ? describe(cause.cause) : undefined
  return deeper ? `${errorMessage(cause)}, because ${deeper}` : errorMessage(cause)
}
