import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { listTopLevelKeys } from './json-keys.ts'

/** Text as JSON may spell it: as it is, or with each character as an escape. */
const spelt = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.boolean()).map(([value, isEscaped]) => ({
    value,
    json: isEscaped
      ? `"${[...value]
          .flatMap((character) => character.split(''))
          .map(toEscape)
          .join('')}"`
      : JSON.stringify(value),
  }))
const word = fc.oneof(
  fc.constantFrom('model', 'n', 'stream', '', '\\', '"', '\\"', '{', ',', ':'),
  fc.string({ unit: 'binary' }),
)
const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 3 })
const value = fc.oneof(
  fc.json(),
  fc.string().map((text) => JSON.stringify(text)),
  fc.constantFrom('"\\\\"', '"\\\\\\""', '{"model":"x","model":{"model":1}}', '["model",{"n":[]}]', '-1.5e+9', 'null'),
)

test('listTopLevelKeys returns the keys in order and repeated ones each time, for any values', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(spelt(word), value, space, space)), space, (members, around) => {
      const json = `${around}{${members.map(([key, held, before, after]) => `${before}${key.json}${after}:${before}${held}${after}`).join(',')}}${around}`
      // The text is JSON, and says the same to a parser.
      const parsed: unknown = JSON.parse(json)
      const keys = listTopLevelKeys(json)
      expect(keys).toEqual(members.map(([key]) => key.value))
      expect([...new Set(keys)].sort()).toEqual(Object.keys(Object(parsed)).sort())
    }),
    { numRuns: 1000 },
  )
})

test('listTopLevelKeys returns the keys of a parser for any object', () => {
  fc.assert(
    fc.property(fc.dictionary(word, fc.jsonValue()), fc.integer({ min: 0, max: 4 }), (object, indent) => {
      const json = JSON.stringify(object, null, indent)
      expect(listTopLevelKeys(json).sort()).toEqual(Object.keys(JSON.parse(json)).sort())
    }),
    { numRuns: 1000 },
  )
})

function toEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
