import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { AppError, type ErrorKind } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { BaseEnv } from './env.ts'

const STATUSES: Readonly<Record<ErrorKind, ContentfulStatusCode>> = {
  invalid: 400,
  unauthenticated: 401,
  payment_required: 402,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  limited: 429,
  misconfigured: 500,
  internal: 500,
  upstream_failed: 502,
  unavailable: 503,
  upstream_timeout: 504,
}

/** Answers every error as `{error, …}`; what we did not throw ourselves becomes `Internal error` (rulings, 13). */
export function errorHandler(log: Log) {
  return <Env extends BaseEnv>(error: Error, c: Context<Env>) => {
    const known = toAppError(error)
    const status = statusOf(known.kind)
    if (status >= 500) {
      log.error(
        { requestId: c.var.requestId, method: c.req.method, path: c.req.path, error: describe(error) },
        known.message,
      )
    }
    if (typeof known.extra.retryAfter === 'string') c.header('retry-after', known.extra.retryAfter)
    // The rest of the body is never read, so nothing can follow it; an open connection would also hold up a stop.
    if (known.kind === 'too_large') c.header('connection', 'close')
    return c.json({ error: known.message, ...known.extra }, status)
  }
}

/** Unknown routes (rulings, 13). */
export function notFound(c: Context) {
  return c.json({ error: 'Not found' }, 404)
}

export function statusOf(kind: ErrorKind): ContentfulStatusCode {
  return STATUSES[kind]
}

/** What the caller may know of an error: our own as they are, anything else as `Internal error`. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof HTTPException && error.status === 413) return new AppError('too_large', 'Request body too large')
  if (error instanceof HTTPException && error.status === 400) return new AppError('invalid', error.message)
  return new AppError('internal', 'Internal error')
}

/** The whole story for the log: message, stack and what caused it. */
function describe(error: Error): string {
  const cause =
    error.cause === undefined
      ? ''
      : `\ncaused by ${error.cause instanceof Error ? describe(error.cause) : String(error.cause)}`
  return `${error.stack ?? error.message}${cause}`
}
