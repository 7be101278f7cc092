import { expect, test } from 'bun:test'
import { filterLines, MAX_LINES, toLine, withFresh } from './log-lines.ts'

const line = (id: number, text = `line ${id}`) => toLine(String(id), { type: 'line', text })

test('withFresh: lines that come again are shown once', () => {
  const lines = [line(1), line(2)]
  expect(withFresh(lines, [line(1), line(2)])).toBe(lines)
  expect(withFresh(lines, [line(2), line(3)]).map(({ id }) => id)).toEqual([1, 2, 3])
})

test('withFresh: only the newest are kept, whatever comes', () => {
  const flood = Array.from({ length: MAX_LINES + 50 }, (_, index) => line(index + 1))
  const kept = withFresh([], flood)
  expect(kept).toHaveLength(MAX_LINES)
  expect(kept.at(-1)?.id).toBe(MAX_LINES + 50)
})

test('toLine: an end that nobody saw has no code', () => {
  expect(toLine('7', { type: 'exit', code: null })).toEqual({ id: 7, text: 'The agent ended.', isNote: true })
  expect(toLine('8', { type: 'exit', code: 78 }).text).toBe('The agent ended with code 78.')
})

test('filterLines: in any case, and ends stay in sight', () => {
  const lines = [line(1, 'Error: no'), line(2, 'fine'), toLine('3', { type: 'exit', code: 1 })]
  expect(filterLines(lines, ' error ').map(({ id }) => id)).toEqual([1, 3])
  expect(filterLines(lines, '  ')).toBe(lines)
})
