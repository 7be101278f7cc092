import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { formatMicroUsd, parseMicroUsd, shareOut, tokenCost, toUsd } from './money.ts'

const tokens = fc.nat(10_000_000)
const usd = fc.double({ min: 0, max: 1000, noNaN: true })

test.each([
  [1_000_000, 0, 2.5, 10, 2_500_000],
  [0, 1_000_000, 2.5, 10, 10_000_000],
  [1000, 500, 0.15, 0.6, 450],
  [1, 0, 0.15, 0.6, 1],
  [0, 0, 2.5, 10, 0],
  [1_000_000, 1_000_000, 0, 0, 0],
])(
  'tokenCost of %i input tokens and %i output tokens at $%f and $%f a million is %i micro-dollars',
  (input, output, inputPrice, outputPrice, cost) => {
    expect(
      tokenCost(
        { inputTokens: input, outputTokens: output },
        { inputUsdPerMillion: inputPrice, outputUsdPerMillion: outputPrice },
      ),
    ).toBe(cost)
  },
)

test('tokenCost is an integer within half a micro-dollar of the exact cost, and 0 only when the call is free', () => {
  fc.assert(
    fc.property(tokens, tokens, usd, usd, (input, output, inputUsdPerMillion, outputUsdPerMillion) => {
      const cost = tokenCost({ inputTokens: input, outputTokens: output }, { inputUsdPerMillion, outputUsdPerMillion })
      const exact = input * inputUsdPerMillion + output * outputUsdPerMillion
      expect(Number.isSafeInteger(cost)).toBe(true)
      expect(cost === 0).toBe(exact === 0)
      expect(Math.abs(cost - exact)).toBeLessThan(exact < 1 ? 1.000001 : 0.5001)
    }),
  )
})

test('toUsd returns dollars', () => {
  expect(toUsd(1_234_567)).toBe(1.234567)
})

test.each<[unknown, number]>([
  ['0', 0],
  ['1', 1_000_000],
  ['1.0', 1_000_000],
  ['0.1', 100_000],
  ['0.000001', 1],
  ['0.30', 300_000],
  ['100.000000', 100_000_000],
  ['12.5', 12_500_000],
  ['1000000000', 1_000_000_000_000_000],
  [0, 0],
  [0.1, 100_000],
  [1.005, 1_005_000],
  [99.99, 99_990_000],
  [100, 100_000_000],
  ['999999999.999999', 999_999_999_999_999],
])('parseMicroUsd, when given %p, returns %i micro-dollars', (amount, microUsd) => {
  expect(parseMicroUsd(amount)).toBe(microUsd)
})

test.each<[unknown]>([
  ...[-0, 0.1 + 0.2, 1e-7, 5e-324, 1e21, -1, -0.5, 1e9 + 1, 2 ** 53, Number.MAX_VALUE].map((value): [unknown] => [
    value,
  ]),
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((value): [unknown] => [value]),
  ...['', ' ', ' 1', '1 ', '1\n', '-0', '-1', '+1', '--1', '1e2', '1E2', '1e-7', '0x10', '0b1', '.5', '5.', '.'].map(
    (value): [unknown] => [value],
  ),
  ...['1.0000001', '1.0000000', '0.0000000', '1,5', '1,000', '1_000', '01', '00', '00.1', '1.2.3', '١', '1٫5'].map(
    (value): [unknown] => [value],
  ),
  ...['NaN', 'Infinity', 'null', '1000000000.000001', '9007199254740993', '$1', '1 USDC', '１'].map(
    (value): [unknown] => [value],
  ),
  ...[null, undefined, true, false, [], ['1'], {}, 1n].map((value): [unknown] => [value]),
])('parseMicroUsd throws when given %p', (amount) => {
  expect(parseMicroUsd(amount)).toBeNull()
})

test('parseMicroUsd returns the amount that formatMicroUsd wrote', () => {
  const amount = fc.integer({ min: 0, max: 1_000_000_000_000_000 })
  fc.assert(
    fc.property(amount, fc.integer({ min: 0, max: 6 }), (microUsd, places) => {
      const text = formatMicroUsd(microUsd, places)
      expect(parseMicroUsd(text)).toBe(microUsd)
      expect((text.split('.')[1] ?? '').length).toBeGreaterThanOrEqual(places)
    }),
    { numRuns: 10_000 },
  )
  expect([formatMicroUsd(12_500_000), formatMicroUsd(12_000_000, 2), formatMicroUsd(-1)]).toEqual([
    '12.5',
    '12.00',
    '-0.000001',
  ])
})

test('shareOut returns parts that sum to the whole and differ from the exact share by less than a micro-dollar, 100,000 times', () => {
  const total = fc.integer({ min: 0, max: 1_000_000_000_000_000 })
  const weights = fc
    .array(fc.integer({ min: 0, max: 100_000_000 }), { minLength: 1, maxLength: 12 })
    .filter((list) => list.some((weight) => weight > 0))
  fc.assert(
    fc.property(total, weights, (whole, list) => {
      const parts = shareOut(whole, list)
      const sum = list.reduce((all, weight) => all + BigInt(weight), 0n)
      let given = 0n
      for (const [index, part] of parts.entries()) {
        const due = BigInt(whole) * BigInt(list[index] ?? 0)
        const isWithinOne = BigInt(part) * sum > due - sum && BigInt(part) * sum < due + sum
        if (part < 0 || !Number.isSafeInteger(part) || !isWithinOne) throw new Error(`${part} of ${whole} for ${list}`)
        given += BigInt(part)
      }
      return given === BigInt(whole)
    }),
    { numRuns: 100_000 },
  )
})

test('shareOut gives the remainder to the largest fractions, and to the first of equal ones', () => {
  expect(shareOut(100, [1, 1, 1])).toEqual([34, 33, 33])
  expect(shareOut(10, [70, 25, 5])).toEqual([7, 3, 0])
  expect(shareOut(1, [0, 50, 50])).toEqual([0, 1, 0])
  expect(shareOut(0, [1, 1])).toEqual([0, 0])
  expect(() => shareOut(1, [0])).toThrow('Nothing to divide by')
})
