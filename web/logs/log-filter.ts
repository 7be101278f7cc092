import { LEVELS, type Level, type LogRow } from './log-lines.ts'

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
