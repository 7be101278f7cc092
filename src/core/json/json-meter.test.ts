import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createJsonMeter } from './bounded-json.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

test.each([
  ['1', 0, 0],
  ['[]', 1, 1],
  ['[1,2,3]', 3, 1],
  ['{"a":{"b":[1,{}]}}', 5, 4],
  ['{"a":"[{,\\"[,"}', 1, 1],
  ['["\\\\",[]]', 3, 2],
  [': "\ndata: [1,2]', 2, 1],
  [': "\\\rdata: [1,2]', 2, 1],
])('createJsonMeter, when given %s, counts about %d values, %d deep', (text, values, depth) => {
  expect(createJsonMeter()(bytesOf(text))).toEqual({ values, depth })
})

test('createJsonMeter counts the same when the text is split anywhere', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (text, at) => {
      const bytes = bytesOf(text)
      const cut = at % (bytes.length + 1)
      const whole = { ...createJsonMeter()(bytes) }
      const meter = createJsonMeter()
      meter(bytes.subarray(0, cut))
      expect(meter(bytes.subarray(cut))).toEqual(whole)
    }),
  )
})
