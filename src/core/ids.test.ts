import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId, newSlug, randomText } from './ids.ts'

test('newId returns the prefix and 22 letters and digits, and no id twice', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('agt'))
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^agt_[0-9A-Za-z]{22}$/)
})

test('randomText returns every letter with the same probability', () => {
  const counts = new Map<string, number>()
  const draws = 620_000
  for (const letter of randomText(draws)) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  expect(counts.size).toBe(62)
  // 10 000 of each are expected, with a deviation of 99: seven deviations never happen by chance.
  for (const count of counts.values()) expect(Math.abs(count - draws / 62)).toBeLessThan(700)
})

test('randomText returns a text of the requested length', () => {
  for (const length of [0, 1, 43, 1000]) expect(randomText(length)).toHaveLength(length)
})

test('newSlug returns a DNS label of at most 29 characters for any name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (name) => {
      expect(newSlug(name)).toMatch(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?-[0-9a-f]{8}$/)
      expect(newSlug(name).length).toBeLessThanOrEqual(29)
    }),
  )
})

test('newSlug returns a text similar to the name, and differs when called twice', () => {
  expect(newSlug('Ada Lovelace')).toMatch(/^ada-lovelace-[0-9a-f]{8}$/)
  expect(newSlug('Zoë')).toMatch(/^zoe-/)
  expect(newSlug('日本')).toMatch(/^agent-/)
  expect(newSlug('Ada')).not.toBe(newSlug('Ada'))
})
