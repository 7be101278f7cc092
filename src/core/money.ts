import { trimTrailing } from './text/trim.ts'
/** Millionths of a US dollar, always whole: sums never drift (decisions, 24). */
export type MicroUsd = number

/** US dollars for a response body; the only place where money is a fraction. */
export function toUsd(microUsd: MicroUsd): number {
  return microUsd / 1_000_000
}

/** US dollars that somebody else reports, as whole micro-dollars; at least one for anything that costs. */
export function toMicroUsd(usd: number): MicroUsd {
  return usd > 0 ? Math.max(1, Math.round(usd * 1_000_000)) : 0
}

/** Tokens of one call. `cachedInputTokens` are those of the input that the provider had read before; none unless given. */
export type Tokens = { inputTokens: number; cachedInputTokens?: number; outputTokens: number }

/**
 * The cost of a call. Prices are US dollars per million tokens, which is micro-dollars per token.
 * @returns whole micro-dollars, at least one for a call that costs anything: paid never counts as free.
 */
export function tokenCost({ inputTokens, cachedInputTokens = 0, outputTokens }: Tokens, price: TokenPrice): MicroUsd {
  const cached = Math.min(cachedInputTokens, inputTokens)
  const { inputUsdPerMillion, cachedInputUsdPerMillion = inputUsdPerMillion, outputUsdPerMillion } = price
  const exact =
    (inputTokens - cached) * inputUsdPerMillion + cached * cachedInputUsdPerMillion + outputTokens * outputUsdPerMillion
  return exact > 0 ? Math.max(1, Math.round(exact)) : 0
}

/** US dollars for one million tokens. Where the price of cached input is not known it counts as fresh. */
export type TokenPrice = {
  inputUsdPerMillion: number
  outputUsdPerMillion: number
  cachedInputUsdPerMillion?: number
}

/** A billion dollars: products and sums of amounts up to it stay whole in what JavaScript counts exactly. */
export const MAX_MICRO_USD = 1_000_000_000_000_000

/**
 * A decimal number such as `12.5` as micro-dollars; null unless it is one of at most six places and a billion. A JSON number
 * counts by its digits. Signs, exponents, spaces, `-0` and further places, even zeros, are refused (decisions, 24).
 */
export function parseMicroUsd(amount: unknown): MicroUsd | null {
  if (typeof amount !== 'string' && typeof amount !== 'number') return null
  if (Object.is(amount, -0)) return null
  const match = /^(0|[1-9]\d{0,9})(?:\.(\d{1,6}))?$/.exec(String(amount))
  if (!match) return null
  const [, whole = '', fraction = ''] = match
  const microUsd = Number(whole + fraction.padEnd(6, '0'))
  return microUsd <= MAX_MICRO_USD ? microUsd : null
}

/** A decimal text for a response body or a payee, with as many places as it takes and at least `places`. */
export function formatMicroUsd(microUsd: MicroUsd, places = 0): string {
  const digits = String(Math.abs(microUsd)).padStart(7, '0')
  const fraction = digits.slice(-6)
  const kept = fraction.slice(0, Math.max(places, trimTrailing(fraction, '0').length))
  return `${microUsd < 0 ? '-' : ''}${digits.slice(0, -6)}${kept && `.${kept}`}`
}

/**
 * Divides `total` by whole weights without losing or making a micro-dollar: each gets its part rounded down, and what is left
 * goes to the largest remainders, the first of equal ones. @returns the parts, in the order of the weights.
 */
export function shareOut(total: MicroUsd, weights: readonly number[]): MicroUsd[] {
  const sum = weights.reduce((whole, weight) => whole + BigInt(weight), 0n)
  if (sum <= 0n) throw new Error('Nothing to divide by')
  const exact = weights.map((weight, index) => {
    const product = BigInt(total) * BigInt(weight)
    return { index, part: Number(product / sum), remainder: product % sum }
  })
  const left = total - exact.reduce((whole, { part }) => whole + part, 0)
  const byRemainder = exact.toSorted((one, other) => compare(other.remainder, one.remainder) || one.index - other.index)
  for (const entry of byRemainder.slice(0, left)) entry.part++
  return exact.map(({ part }) => part)
}

function compare(one: bigint, other: bigint): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
