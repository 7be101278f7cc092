import { expect, test } from 'bun:test'
import { placeInRings } from './places-of-nodes.ts'

test('placeInRings centers a single node and places others on rings without overlap', () => {
  expect(placeInRings(0)).toEqual([])
  expect(placeInRings(1)).toEqual([{ x: 50, y: 50 }])
  expect(placeInRings(2).map(({ x, y }) => [Math.round(x), Math.round(y)])).toEqual([
    [50, 15],
    [50, 85],
  ])
  for (const count of [3, 12, 13, 100]) {
    const places = placeInRings(count)
    expect(places).toHaveLength(count)
    expect(new Set(places.map(({ x, y }) => `${x.toFixed(2)} ${y.toFixed(2)}`)).size).toBe(count)
    expect(places.every(({ x, y }) => Math.min(x, y) >= 15 && Math.max(x, y) <= 85)).toBe(true)
  }
})
