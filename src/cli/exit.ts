import { CommanderError } from 'commander'
import { StartupError } from '../core/errors.ts'
import { isDamage } from '../core/is-damage.ts'

/** Exit codes; 75 and 78 are `EX_TEMPFAIL` and `EX_CONFIG` of sysexits. */
const FAILED = 1
const WRONG_USAGE = 2
const TRY_AGAIN = 75
const BAD_CONFIGURATION = 78

/** What another program holds for now: a port, the database. */
const HELD = /^(?:EADDRINUSE|SQLITE_BUSY|SQLITE_LOCKED)/
/** A database that this user may not write, or that is damaged. */
const UNUSABLE = /^SQLITE_(?:READONLY|CANTOPEN|CORRUPT|NOTADB)/

/** An option or argument that is missing or wrong. */
export class UsageError extends Error {}

/** The server that a command asks is not there; it may be soon. */
export class NotRunningError extends Error {}

/**
 * Ends the process after any error: one line on standard error and the exit code that says whether to try again.
 * With `STEAD_DEBUG` set the stack follows the line.
 */
export function endWith(error: unknown): never {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : WRONG_USAGE)
  const lines = describe(error)
    .split('\n')
    .map((line) => line.trim())
  process.stderr.write(`stead: ${lines.filter(Boolean).join(' ')}\n`)
  if (process.env.STEAD_DEBUG && error instanceof Error) process.stderr.write(`${Bun.inspect(error)}\n`)
  process.exit(toExitCode(error))
}

/** Lets errors that no one awaited end the process as all others do. */
export function endOnUncaught(): void {
  process.on('uncaughtException', endWith)
  process.on('unhandledRejection', endWith)
}

function toExitCode(error: unknown): number {
  if (error instanceof UsageError) return WRONG_USAGE
  if (error instanceof NotRunningError || findCause(error, HELD)) return TRY_AGAIN
  return error instanceof StartupError || findCause(error, UNUSABLE) ? BAD_CONFIGURATION : FAILED
}

/** The error, or one that caused it, whose code matches. */
function findCause(error: unknown, code: RegExp): Error | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && code.test(String(cause.code))) return cause
  }
  return null
}

/** Startup errors name the setting themselves; SQLite's own errors are those of some statement on the database. */
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
