import { closeSync, openSync, writeSync } from 'node:fs'
import { errorMessage, StartupError } from '../errors.ts'
import { type LogFormat, toPrettyLine } from './format.ts'

const FILE_MODE = 0o600

/** The destination of log lines: standard output, or a file that can be reopened after rotation. */
export type LogOutput = {
  write(line: string): void
  /**
   * Switches to `file`, or to standard output without one.
   * @throws StartupError when it cannot be opened; the previous destination stays.
   */
  reopen(file: string | undefined): void
}

/** `format` defaults to `pretty` on a terminal, else `json`. @throws StartupError when the file cannot be opened. */
export function createLogOutput(file: string | undefined, format?: LogFormat): LogOutput {
  let descriptor = openForLines(file)
  let hasFailed = false
  const writeNow = (text: string) => {
    try {
      writeWhole(descriptor ?? process.stdout.fd, text)
      hasFailed = false
    } catch (error) {
      // A full disk must not end the service; report it once.
      if (!hasFailed && descriptor !== null) process.stderr.write(`stead: LOG_FILE: ${errorMessage(error)}\n`)
      hasFailed = true
    }
  }
  const write = buffered((text) => (descriptor === null ? process.stdout.write(text) : writeNow(text)), writeNow)
  return {
    write(line) {
      const isTerminal = descriptor === null && process.stdout.isTTY
      const isPretty = format === undefined ? isTerminal : format === 'pretty'
      write(isPretty ? toPrettyLine(line, { hasColors: isTerminal && process.stdout.hasColors() }) : line)
    },
    reopen(next) {
      const opened = openForLines(next)
      if (descriptor !== null) closeSync(descriptor)
      descriptor = opened
    },
  }
}

function openForLines(file: string | undefined): number | null {
  if (file === undefined) return null
  try {
    return openSync(file, 'a', FILE_MODE)
  } catch (error) {
    throw new StartupError(`LOG_FILE: ${file} cannot be written (${errorMessage(error)})`, { cause: error })
  }
}

/** `write` may accept fewer bytes than given. */
function writeWhole(descriptor: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done)
}

/** Writes the lines of one turn of the event loop together, and the rest at exit. */
function buffered(write: (text: string) => void, writeAtExit: (text: string) => void): (line: string) => void {
  let lines = ''
  const take = () => {
    const taken = lines
    lines = ''
    return taken
  }
  process.on('exit', () => {
    if (lines !== '') writeAtExit(take())
  })
  return (line) => {
    if (lines === '')
      setImmediate(() => {
        if (lines !== '') write(take())
      })
    lines += line
  }
}
