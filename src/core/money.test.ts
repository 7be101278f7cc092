import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { tokenCost, toUsd } from './money.ts'

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
  '%i tokens in, %i out, at $%f and $%f a million cost %i micro-dollars',
  (input, output, inputPrice, outputPrice, cost) => {
    expect(
      tokenCost(
        { inputTokens: input, outputTokens: output },
        { inputUsdPerMillion: inputPrice, outputUsdPerMillion: outputPrice },
      ),
    ).toBe(cost)
  },
)

test('a cost is whole, within half a micro-dollar of exact, and only a free call is free', () => {
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

test('toUsd is dollars', () => {
  expect(toUsd(1_234_567)).toBe(1.234567)
})
