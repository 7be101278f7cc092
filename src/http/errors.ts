import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { AppError, type ErrorKind, errorMessage } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { AnswerError, BaseEnv } from './env.ts'

const STATUSES: Readonly<Record<ErrorKind, ContentfulStatusCode>> = {
  invalid: 400,
  unauthenticated: 401,
  payment_required: 402,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_slow: 408,
  too_large: 413,
  limited: 429,
  storage_full: 507,
  misconfigured: 500,
  internal: 500,
  undelivered: 500,
  upstream_failed: 502,
  unavailable: 503,
  upstream_timeout: 504,
}

/**
 * Responds to every error with `{error, …}`, or in the form that the route has declared; unknown errors become `Internal
 * error`, so no internals leak.
 */
export function errorHandler(log: Log) {
  return <Env extends BaseEnv>(error: Error, c: Context<Env>): Response | Promise<Response> => {
    const answerError = takeAnswerError(c)
    if (answerError) return answerError(error, c)
    const known = toAppError(error)
    const status = statusOf(known.kind)
    logFailure(c, log, error, known)
    if (typeof known.extra.retryAfter === 'string') c.header('retry-after', known.extra.retryAfter)
    return c.json({ error: known.message, ...known.extra }, status)
  }
}

/** Errors of the middleware around the route, which come later, have the general form. */
function takeAnswerError(c: Context): AnswerError | undefined {
  const answerError: AnswerError | undefined = c.get('answerError')
  if (answerError) c.set('answerError', undefined)
  return answerError
}

/** Logs server and upstream failures, not client errors. Only unexpected errors are logged with a stack. */
export function logFailure<Env extends BaseEnv>(c: Context<Env>, log: Log, error: Error, known: AppError): void {
  if (statusOf(known.kind) < 500 || known.kind === 'storage_full') return
  const request = { requestId: c.var.requestId, method: c.req.method, path: c.req.path }
  if (c.req.raw.signal.aborted)
    log.info({ ...request, error: summarizeError(error) }, 'the caller left before the answer')
  else if (known.kind === 'internal') log.error({ ...request, error: describeFailure(error) }, known.message)
  else log.warn({ ...request, error: summarizeError(error) }, known.message)
}

/** Responds to unknown routes. */
export function notFound(c: Context) {
  return c.json({ error: 'Not found' }, 404)
}

export function statusOf(kind: ErrorKind): ContentfulStatusCode {
  return STATUSES[kind]
}

/** Returns an error that is safe to send: AppErrors unchanged, others as `Internal error`. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof HTTPException && error.status === 413) return new AppError('too_large', 'Request body too large')
  if (error instanceof HTTPException && error.status === 400) return new AppError('invalid', error.message)
  return new AppError('internal', 'Internal error')
}

/** Returns the message and its causes in one line. */
export function summarizeError(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `, because ${summarizeError(error.cause)}` : ''
  return `${errorMessage(error)}${cause}`
}

/** Returns message, stack and causes for the log. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : `\ncaused by ${describeFailure(error.cause)}`
  return `${error.stack ?? error.message}${cause}`
}
