import { CommanderError } from 'commander'
import { isDamage, StartupError } from '../core/errors.ts'

/** Exit codes; 75 and 78 are `EX_TEMPFAIL` and `EX_CONFIG` of sysexits. */
const FAILED = 1
const WRONG_USAGE = 2
export const TRY_AGAIN = 75
const BAD_CONFIGURATION = 78

/** Errors of a resource in use by another program, a port or the database, and of a cluster's log that does not answer. */
const HELD = /^(?:EADDRINUSE|SQLITE_BUSY|SQLITE_LOCKED|LOG_UNREACHABLE)/
/** Errors of a read-only or damaged database. */
const UNUSABLE = /^SQLITE_(?:READONLY|CANTOPEN|CORRUPT|NOTADB)/

/** A missing or invalid option or argument. */
export class UsageError extends Error {}

/** The server does not answer; retrying later may succeed. */
export class NotRunningError extends Error {}

/**
 * Prints one line on standard error and ends the process with the exit code of the error, which says whether to retry.
 * `STEAD_DEBUG` adds the stack.
 */
export function exitWith(error: unknown): never {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : WRONG_USAGE)
  const lines = describe(error)
    .split('\n')
    .map((line) => line.trim())
  process.stderr.write(`stead: ${lines.filter(Boolean).join(' ')}\n`)
  if (process.env.STEAD_DEBUG && error instanceof Error) process.stderr.write(`${Bun.inspect(error)}\n`)
  process.exit(toExitCode(error))
}

/** Handles uncaught errors and rejections like all others. */
export function endOnUncaught(): void {
  process.on('uncaughtException', exitWith)
  process.on('unhandledRejection', exitWith)
}

function toExitCode(error: unknown): number {
  if (error instanceof UsageError) return WRONG_USAGE
  if (error instanceof NotRunningError || findCause(error, HELD)) return TRY_AGAIN
  return error instanceof StartupError || findCause(error, UNUSABLE) ? BAD_CONFIGURATION : FAILED
}

/** Returns the error in the cause chain whose code matches. */
function findCause(error: unknown, code: RegExp): Error | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && code.test(String(cause.code))) return cause
  }
  return null
}

/** Startup errors name the setting; SQLite errors name only a statement, so the database is added. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof StartupError) return error.message
  if (findCause(error, HELD)) return 'DATA_DIR: the database is locked by another program'
  const unusable = findCause(error, UNUSABLE)
  if (unusable && isDamage(unusable))
    return `DATA_DIR: the database is damaged (${unusable.message}): stead doctor names the command that restores a backup`
  if (unusable) return `DATA_DIR: the database cannot be used (${unusable.message})`
  return error.message || error.name
}
