/** What can go wrong, in business words. `http/errors.ts` alone knows the statuses. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'payment_required'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'too_large'
  | 'too_slow'
  | 'limited'
  | 'storage_full'
  | 'misconfigured'
  | 'internal'
  | 'undelivered'
  | 'upstream_failed'
  | 'upstream_timeout'
  | 'unavailable'

/** The one error services throw: `message` is for the caller, `extra` joins the response body, `cause` is for the log. */
export class AppError extends Error {
  readonly kind: ErrorKind
  readonly extra: Readonly<Record<string, unknown>>
  constructor(kind: ErrorKind, message: string, extra: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'AppError'
    this.kind = kind
    this.extra = extra
  }
}

/**
 * A reason not to start: printed as one line, exit code 78 (`EX_CONFIG` of sysexits), or 75 (`EX_TEMPFAIL`) when its cause
 * is a port or a file that another program holds.
 */
export class StartupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartupError'
  }
}

/** The message of whatever was thrown, for logs and stored reasons. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
