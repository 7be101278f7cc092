import type { AgentLogEntry, LogEvent } from '../../src/features/agents/logs/schemas.ts'

/** Limits memory and rendering time in the browser. */
export const MAX_LINES = 50_000

export const LEVELS = ['error', 'warn', 'info', 'debug'] as const
export type Level = (typeof LEVELS)[number]

/**
 * `level` is null when the line names none; `fields` are the other fields of a JSON line; `isNote` marks platform
 * events; `at` is in ms.
 */
export type LogRow = {
  id: number
  at: number
  stream: AgentLogEntry['stream']
  level: Level | null
  message: string
  fields: Record<string, unknown> | null
  text: string
  isNote: boolean
}

/** Numeric levels of pino and bunyan. */
const numbered: readonly [least: number, level: Level][] = [
  [50, 'error'],
  [40, 'warn'],
  [30, 'info'],
  [0, 'debug'],
]
const named: Readonly<Record<string, Level>> = {
  fatal: 'error',
  critical: 'error',
  error: 'error',
  err: 'error',
  warn: 'warn',
  warning: 'warn',
  info: 'info',
  notice: 'info',
  debug: 'debug',
  trace: 'debug',
  verbose: 'debug',
}
/** A level near the start of a plain text line: `[warn] …`, `ERROR: …`, `level=info …`. */
const LEVEL_WORD =
  /^.{0,40}?(?:\[|\blevel=|^|\s)(fatal|critical|error|err|warn|warning|info|notice|debug|trace|verbose)(?:\]|:|\s|$)/i

/** `eventId` is the number of the stored line; `now` is used when the event has no time. */
export function toRow(eventId: string, event: Exclude<LogEvent, { type: 'connected' }>, now: number): LogRow {
  const id = Number(eventId)
  const at = event.at === undefined ? now : Date.parse(event.at)
  if (event.type === 'line') return parseLine({ id, at, stream: event.stream ?? 'stdout', text: event.text })
  const text = event.code === null ? 'The agent exited.' : `The agent exited with code ${event.code}.`
  return { id, at, stream: 'platform', level: null, message: text, fields: null, text, isNote: true }
}

export function toStoredRow({ id, at, stream, text }: AgentLogEntry): LogRow {
  return parseLine({ id, at: Date.parse(at), stream, text })
}

function parseLine(line: Pick<LogRow, 'id' | 'at' | 'stream' | 'text'>): LogRow {
  if (line.stream === 'platform') return { ...line, level: null, message: line.text, fields: null, isNote: true }
  const fields = parseFields(line.text)
  if (!fields) return { ...line, level: findLevel(line.text, line.stream), message: line.text, fields, isNote: false }
  const { level, severity, time: _time, timestamp: _timestamp, msg, message, ...rest } = fields
  const said = [msg, message].find((value) => typeof value === 'string')
  return {
    ...line,
    level: toLevel(level ?? severity),
    message: said ?? line.text,
    fields: said === undefined ? fields : rest,
    isNote: false,
  }
}

function parseFields(text: string): Record<string, unknown> | null {
  if (!text.startsWith('{')) return null
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : null
  } catch {
    return null
  }
}

function toLevel(value: unknown): Level | null {
  if (typeof value === 'number') return numbered.find(([least]) => value >= least)?.[1] ?? null
  return typeof value === 'string' ? (named[value.toLowerCase()] ?? null) : null
}

function findLevel(text: string, stream: AgentLogEntry['stream']): Level | null {
  const word = LEVEL_WORD.exec(text)?.[1]
  return word ? (named[word.toLowerCase()] ?? null) : stream === 'stderr' ? 'warn' : null
}

/** Appends new lines without duplicates and keeps the newest. */
export function withFresh(rows: readonly LogRow[], fresh: readonly LogRow[]): readonly LogRow[] {
  const last = rows.at(-1)?.id ?? 0
  const added = fresh.filter(({ id }) => id > last)
  return added.length === 0 ? rows : [...rows, ...added].slice(-MAX_LINES)
}

/** `range` in ms, end exclusive; `level` includes more severe ones. */
export type LogFilter = { text: string; level: Level | null; range: { from: number; to: number } | null }

/** Matches `text` in any case; platform notes stay unless outside of the range. */
export function filterRows(rows: readonly LogRow[], { text, level, range }: LogFilter): readonly LogRow[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' && !level && !range) return rows
  const gravest = level === null ? null : LEVELS.slice(0, LEVELS.indexOf(level) + 1)
  return rows.filter((row) => {
    if (range && (row.at < range.from || row.at >= range.to)) return false
    if (row.isNote) return true
    if (gravest && !(row.level && gravest.includes(row.level))) return false
    return wanted === '' || row.text.toLowerCase().includes(wanted)
  })
}

/** Splits `text`; every second part is a match. */
export function splitAtMatches(text: string, search: string): string[] {
  const wanted = search.trim().toLowerCase()
  if (wanted === '') return [text]
  const pieces: string[] = []
  const lower = text.toLowerCase()
  let start = 0
  for (let found = lower.indexOf(wanted); found !== -1; found = lower.indexOf(wanted, start)) {
    pieces.push(text.slice(start, found), text.slice(found, found + wanted.length))
    start = found + wanted.length
  }
  return [...pieces, text.slice(start)]
}

/** Number of lines by severity in one interval. */
export type Bar = { from: number; to: number; error: number; warn: number; other: number }

/** Splits the time from the first to the last line into `count` intervals; empty when all lines have the same time. */
export function toBars(rows: readonly LogRow[], count: number): Bar[] {
  const first = rows[0]
  const last = rows.at(-1)
  if (!first || !last || last.at <= first.at) return []
  const size = Math.ceil((last.at - first.at + 1) / count)
  const bars = Array.from({ length: count }, (_, index): Bar => {
    const from = first.at + index * size
    return { from, to: from + size, error: 0, warn: 0, other: 0 }
  })
  for (const { at, level, isNote } of rows) {
    const bar = bars[Math.min(count - 1, Math.max(0, Math.floor((at - first.at) / size)))]
    if (bar && !isNote) bar[level === 'error' || level === 'warn' ? level : 'other'] += 1
  }
  return bars
}
