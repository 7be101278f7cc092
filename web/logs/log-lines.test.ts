import { expect, test } from 'bun:test'
import {
  filterRows,
  type LogRow,
  MAX_LINES,
  splitAtMatches,
  toBars,
  toRow,
  toStoredRow,
  withFresh,
} from './log-lines.ts'

const line = (id: number, text = `line ${id}`) => toRow(String(id), { type: 'line', text }, id * 1000)
const stored = (text: string, stream: LogRow['stream'] = 'stdout') =>
  toStoredRow({ id: 1, at: '2026-01-01T00:00:00Z', stream, text })
const everything = { text: '', level: null, range: null }

test('withFresh drops repeated lines', () => {
  const lines = [line(1), line(2)]
  expect(withFresh(lines, [line(1), line(2)])).toBe(lines)
  expect(withFresh(lines, [line(2), line(3)]).map(({ id }) => id)).toEqual([1, 2, 3])
})

test('withFresh keeps only the newest lines', () => {
  const flood = Array.from({ length: MAX_LINES + 50 }, (_, index) => line(index + 1))
  const kept = withFresh([], flood)
  expect(kept).toHaveLength(MAX_LINES)
  expect(kept.at(-1)?.id).toBe(MAX_LINES + 50)
})

test("toRow omits an unknown exit code and prefers the event's own time", () => {
  expect(toRow('7', { type: 'exit', code: null }, 5)).toMatchObject({ at: 5, text: 'The agent exited.', isNote: true })
  expect(toRow('8', { type: 'exit', code: 78, at: '2026-01-01T00:00:00Z' }, 5)).toMatchObject({
    at: Date.UTC(2026, 0, 1),
    text: 'The agent exited with code 78.',
  })
})

test.each([
  ['{"level":50,"msg":"no","code":7}', 'error', 'no', { code: 7 }],
  ['{"severity":"Warning","message":"slow"}', 'warn', 'slow', {}],
  ['{"level":"whatever","x":1}', null, '{"level":"whatever","x":1}', { level: 'whatever', x: 1 }],
  ['2026-01-01 [debug] began', 'debug', '2026-01-01 [debug] began', null],
  ['ERROR: refused', 'error', 'ERROR: refused', null],
  ['level=info ready', 'info', 'level=info ready', null],
  ['no information here', null, 'no information here', null],
  ['{not json', null, '{not json', null],
] as const)('toStoredRow: %s', (text, level, message, fields) => {
  expect(stored(text)).toMatchObject({ level, message, fields, text })
})

test('toStoredRow marks stderr without a level as a warning and platform lines as notes', () => {
  expect(stored('deprecated', 'stderr').level).toBe('warn')
  expect(stored('[5 lines dropped]', 'platform').isNote).toBe(true)
})

test('filterRows filters by text, minimum level and time, and keeps exits', () => {
  const rows = [line(1, 'Error: no'), line(2, 'fine'), toRow('3', { type: 'exit', code: 1 }, 3000), line(4, '[warn] x')]
  const idsOf = (filter: Parameters<typeof filterRows>[1]) => filterRows(rows, filter).map(({ id }) => id)
  expect(filterRows(rows, { ...everything, text: '  ' })).toBe(rows)
  expect(idsOf({ ...everything, text: ' error ' })).toEqual([1, 3])
  expect(idsOf({ ...everything, level: 'warn' })).toEqual([1, 3, 4])
  expect(idsOf({ ...everything, level: 'error' })).toEqual([1, 3])
  expect(idsOf({ ...everything, range: { from: 2000, to: 4000 } })).toEqual([2, 3])
})

test('splitAtMatches returns matches at odd positions in their original case', () => {
  expect(splitAtMatches('An error, an ERROR', 'error')).toEqual(['An ', 'error', ', an ', 'ERROR', ''])
  expect(splitAtMatches('fine', ' ')).toEqual(['fine'])
})

test('toBars counts each line once and covers the whole time', () => {
  const rows = [line(1), line(2, 'ERROR x'), line(3, 'WARN x'), line(10)]
  const bars = toBars(rows, 3)
  expect(bars).toHaveLength(3)
  expect(bars.map(({ error, warn, other }) => [error, warn, other])).toEqual([
    [1, 1, 1],
    [0, 0, 0],
    [0, 0, 1],
  ])
  expect([bars[0]?.from, (bars.at(-1)?.to ?? 0) > 10_000]).toEqual([1000, true])
  expect(toBars([line(1)], 3)).toEqual([])
})
