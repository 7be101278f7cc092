import { z } from 'zod'
import { type LogLevel, LogLevels, type LogQuery, type PlatformLogLine } from './schemas.ts'

/** Limits the lines in memory: the oldest lines are dropped, and long lines are truncated. */
const MAX_LINES = 5000
const MAX_CHARACTERS = 4_000_000
const MAX_LINE_CHARACTERS = 8000

/** The latest lines of the server log, after secrets were masked. */
export type LogTail = {
  add(line: string): void
  /** Returns matching lines, newest first; with `after`, the oldest lines that follow it. */
  read(query: LogQuery): { lines: PlatformLogLine[]; next: number | null; last: number }
}

type Kept = { id: number; level: LogLevel; text: string }

const Parsed = z.looseObject({ level: z.number(), time: z.string(), msg: z.string().default('') })
const PINO_LEVELS: Readonly<Record<number, LogLevel>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

export function createLogTail(): LogTail {
  const kept: Kept[] = []
  let characters = 0
  let last = 0
  return {
    add(line) {
      last += 1
      const text = line.trimEnd()
      kept.push({ id: last, level: levelOf(text), text: text.length > MAX_LINE_CHARACTERS ? cut(text) : text })
      characters += kept.at(-1)?.text.length ?? 0
      while (kept.length > MAX_LINES || characters > MAX_CHARACTERS) characters -= kept.shift()?.text.length ?? 0
    },
    read({ level, search, limit, before, after }) {
      const isWanted = (line: Kept) =>
        LogLevels.indexOf(line.level) >= LogLevels.indexOf(level) &&
        (before === undefined || line.id < before) &&
        (after === undefined || line.id > after) &&
        line.text.toLowerCase().includes(search)
      const found = kept.filter(isWanted)
      const page = after === undefined ? found.slice(-limit) : found.slice(0, limit)
      const isMore = page.length < found.length
      const first = page[0]?.id ?? null
      return {
        lines: page.map(toLogLine).reverse(),
        next: after === undefined && isMore ? first : null,
        // A follower that received a full page continues from the page's end.
        last: after !== undefined && isMore ? (page.at(-1)?.id ?? last) : last,
      }
    },
  }
}

/** Truncates a line but keeps it valid JSON. */
function cut(text: string): string {
  const parsed = parse(text)
  if (!parsed) return text.slice(0, MAX_LINE_CHARACTERS)
  const { level, time, msg } = parsed
  return JSON.stringify({ level, time, msg: `${msg.slice(0, MAX_LINE_CHARACTERS / 2)} … (cut)` })
}

function levelOf(text: string): LogLevel {
  return PINO_LEVELS[Number(/^\{"level":(\d\d)/.exec(text)?.[1])] ?? 'info'
}

function parse(text: string) {
  try {
    return Parsed.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function toLogLine({ id, level, text }: Kept): PlatformLogLine {
  const parsed = parse(text)
  if (!parsed) return { id, level, time: null, message: text, fields: {} }
  const { level: _level, time, msg: message, ...fields } = parsed
  return { id, level, time, message, fields }
}
