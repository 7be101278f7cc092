import { expect, test } from 'bun:test'
import { parseBoundedJson } from './bounded-json.ts'

test('parseBoundedJson equals JSON.parse within the limits, and throws before parsing beyond them', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const list = (count: number) => JSON.stringify(Array.from({ length: count }, () => 1))
  expect(parseBoundedJson('{"a":[1,"b"]}')).toEqual({ a: [1, 'b'] })
  expect(parseBoundedJson(list(30_000))).toHaveLength(30_000)
  expect(JSON.stringify(parseBoundedJson(nested(500)))).toBe(nested(500))
  expect(parseBoundedJson(list(1000), 1000)).toHaveLength(1000)
  expect(() => parseBoundedJson(list(30_001))).toThrow(SyntaxError)
  expect(() => parseBoundedJson(list(1001), 1000)).toThrow(SyntaxError)
  expect(() => parseBoundedJson(nested(501))).toThrow(SyntaxError)
  expect(() => parseBoundedJson('{')).toThrow(SyntaxError)
})
