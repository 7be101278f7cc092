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

const DAMAGED = /^SQLITE_(?:CORRUPT|NOTADB)/

/** Returns whether SQLite reports a damaged file or one that is no database. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DAMAGED.test(String(error.code))
}

/** Returns the error for a failed listen, naming the setting to change: `HOST` or the port's. */
export function toListenError(error: unknown, host: string, port: number, portSetting: string): StartupError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return new StartupError(`${portSetting}: ${host}:${port} is taken by another program`, { cause: error })
  }
  if (code === 'EADDRNOTAVAIL') {
    return new StartupError(`HOST: this machine has no address ${host}`, { cause: error })
  }
  return new StartupError(`${portSetting}: cannot listen on ${host}:${port} (${errorMessage(error)})`, { cause: error })
}
