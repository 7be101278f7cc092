import { closeSync, openSync, writeSync } from 'node:fs'
import { z } from 'zod'
import { errorMessage, StartupError } from '../errors.ts'
import { toVisible } from '../text/lines.ts'

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

/** A busy server writes its lines this often, because each write costs more than the lines. */
const GATHER_MS = 50

/** Writes a line immediately after a pause, the lines that follow it together, and the remaining lines at exit. */
function buffered(write: (text: string) => void, writeAtExit: (text: string) => void): (line: string) => void {
  let lines = ''
  let writtenAt = -GATHER_MS
  const take = () => {
    writtenAt = performance.now()
    const taken = lines
    lines = ''
    return taken
  }
  process.on('exit', () => {
    if (lines !== '') writeAtExit(take())
  })
  return (line) => {
    if (lines === '') {
      const waitMs = Math.max(0, writtenAt + GATHER_MS - performance.now())
      setTimeout(() => {
        if (lines !== '') write(take())
      }, waitMs)
    }
    lines += line
  }
}

type LogFormat = 'pretty' | 'json'

const Line = z.looseObject({ level: z.number(), time: z.string(), msg: z.string().optional() })

/** SGR colour codes of terminals. */
const GRAY = 90
const LEVELS: Readonly<Record<number, { name: string; color: number }>> = {
  10: { name: 'trace', color: GRAY },
  20: { name: 'debug', color: 34 },
  30: { name: 'info', color: 32 },
  40: { name: 'warn', color: 33 },
  50: { name: 'error', color: 31 },
  60: { name: 'fatal', color: 35 },
}

/**
 * Returns one line of JSON log as a line for people: `14:05:09 warn  message key=value`, in the local time zone.
 * Text that is not a log line is returned unchanged.
 */
export function toPrettyLine(line: string, options: { hasColors: boolean }): string {
  const parsed = parseLine(line)
  if (parsed === null) return line
  const { level, time, msg, ...fields } = parsed
  const paint = (color: number, text: string) => (options.hasColors ? `\u001b[${color}m${text}\u001b[39m` : text)
  const { name, color } = LEVELS[level] ?? { name: String(level), color: GRAY }
  const described = Object.entries(fields).map(([key, value]) => `${toVisible(key)}=${toValue(value)}`)
  const words = [
    paint(GRAY, new Date(time).toTimeString().slice(0, 8)),
    paint(color, name.padEnd(5)),
    ...(msg === undefined ? [] : [toOneLine(msg)]),
    ...(described.length === 0 ? [] : [paint(GRAY, described.join(' '))]),
  ]
  return `${words.join(' ')}\n`
}

function parseLine(line: string): z.infer<typeof Line> | null {
  try {
    return Line.safeParse(JSON.parse(line)).data ?? null
  } catch {
    return null
  }
}

/** Escapes control characters, so foreign text can neither move the cursor nor fake a line. */
function toOneLine(text: string): string {
  return toVisible(text.replaceAll('\n', '\\n'))
}

function toValue(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return toVisible(value)
  return toVisible(JSON.stringify(value))
}
