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
