import { CommanderError } from 'commander'
import { AppError, StartupError } from '../core/errors.ts'

/** Exit codes; 75 and 78 are `EX_TEMPFAIL` and `EX_CONFIG` of sysexits. */
const FAILED = 1
const WRONG_USAGE = 2
const TRY_AGAIN = 75
const BAD_CONFIGURATION = 78

/** What another program holds for now: a port, the database. */
const HELD = /^(?:EADDRINUSE|SQLITE_BUSY|SQLITE_LOCKED)/

/** An option or argument that is missing or wrong. */
export class UsageError extends Error {}

/** The server that a command asks is not there; it may be soon. */
export class NotRunningError extends Error {}

/**
 * Ends the process for what a command has thrown: one line on standard error and the exit code that says whether to try
 * again. @throws the error itself when it is none that a command may throw, so that its stack is seen.
 */
export function endWith(error: unknown): never {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : WRONG_USAGE)
  const exitCode = toExitCode(error)
  if (exitCode === null || !(error instanceof Error)) throw error
  process.stderr.write(`stead: ${describe(error)}\n`)
  process.exit(exitCode)
}

function toExitCode(error: unknown): number | null {
  if (error instanceof UsageError) return WRONG_USAGE
  if (error instanceof NotRunningError || findHeld(error)) return TRY_AGAIN
  if (error instanceof StartupError) return BAD_CONFIGURATION
  return error instanceof AppError ? FAILED : null
}

/** What says that something is held: the error itself or one that caused it. */
function findHeld(error: unknown): Error | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && HELD.test(String(cause.code))) return cause
  }
  return null
}

/** Before the start the message names the setting; later what fails is some statement on the database. */
function describe(error: Error): string {
  const isDatabase = !(error instanceof StartupError) && findHeld(error) !== null
  return isDatabase ? 'DATA_DIR: the database is locked by another program' : error.message
}
