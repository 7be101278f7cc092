/** Kinds of errors in business terms; only `http/errors.ts` maps them to statuses. */
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

/**
 * The error that services throw: `message` is for the caller, `extra` joins the response body, `cause` is for the log.
 */
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
 * Prevents the start; printed as one line, with exit code 78 (`EX_CONFIG`), or 75 (`EX_TEMPFAIL`) when another program
 * holds a port or file.
 */
export class StartupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartupError'
  }
}

/** Returns the message of any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
