import { trimTrailing } from './text/trim.ts'
/** Whole millionths of a US dollar, so sums are exact. */
export type MicroUsd = number

/** Converts to US dollars for response bodies, the only place with fractions. */
export function toUsd(microUsd: MicroUsd): number {
  return microUsd / 1_000_000
}

/** Converts a reported US dollar amount; at least one micro-dollar for any positive amount. */
export function toMicroUsd(usd: number): MicroUsd {
  return usd > 0 ? Math.max(1, Math.round(usd * 1_000_000)) : 0
}

/**
 * Tokens of one call. Parts of the input are `cachedInputTokens`, which the provider read from its cache, and
 * `cacheCreationTokens` and `cacheCreationHourTokens`, which it wrote there for 5 minutes and for an hour.
 */
export type Tokens = {
  inputTokens: number
  cachedInputTokens?: number
  cacheCreationTokens?: number
  cacheCreationHourTokens?: number
  outputTokens: number
}

/** Prices of cache writes where a provider lists none, as multiples of the input price. */
const CACHE_CREATION_RATE = 1.25
const CACHE_CREATION_HOUR_RATE = 2

/**
 * Returns the cost of a call. US dollars per million tokens are micro-dollars per token.
 * @returns whole micro-dollars, at least one for a call that is not free.
 */
export function tokenCost(tokens: Tokens, price: TokenPrice): MicroUsd {
  const { inputTokens, cachedInputTokens = 0, cacheCreationTokens = 0, cacheCreationHourTokens = 0 } = tokens
  const { inputUsdPerMillion: input, outputUsdPerMillion } = price
  const cached = Math.min(cachedInputTokens, inputTokens)
  const hour = Math.min(cacheCreationHourTokens, inputTokens - cached)
  const created = Math.min(cacheCreationTokens, inputTokens - cached - hour)
  const exact =
    (inputTokens - cached - hour - created) * input +
    cached * (price.cachedInputUsdPerMillion ?? input) +
    created * (price.cacheCreationUsdPerMillion ?? input * CACHE_CREATION_RATE) +
    hour * input * CACHE_CREATION_HOUR_RATE +
    tokens.outputTokens * outputUsdPerMillion
  return exact > 0 ? Math.max(1, Math.round(exact)) : 0
}

/**
 * US dollars per million tokens. Without a price for cached input, it costs as much as other input.
 * `cacheCreationUsdPerMillion` is the price of cache writes for 5 minutes.
 */
export type TokenPrice = {
  inputUsdPerMillion: number
  outputUsdPerMillion: number
  cachedInputUsdPerMillion?: number
  cacheCreationUsdPerMillion?: number
}

/** A billion dollars, so products and sums stay safe integers. */
export const MAX_MICRO_USD = 1_000_000_000_000_000

/**
 * Parses a decimal such as `12.5` with at most six places, up to a billion.
 * @returns null for signs, exponents, spaces, `-0` and further places.
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

/** Formats an amount with at least `places` decimal places and no trailing zeros beyond. */
export function formatMicroUsd(microUsd: MicroUsd, places = 0): string {
  const digits = String(Math.abs(microUsd)).padStart(7, '0')
  const fraction = digits.slice(-6)
  const kept = fraction.slice(0, Math.max(places, trimTrailing(fraction, '0').length))
  return `${microUsd < 0 ? '-' : ''}${digits.slice(0, -6)}${kept && `.${kept}`}`
}

/**
 * Divides `total` by whole weights without rounding loss: parts are rounded down, and the rest goes to the largest
 * remainders.
 * @returns the parts in the order of the weights.
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
