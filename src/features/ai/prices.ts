import type { TokenPrice } from '../../core/money.ts'
import table from './prices.tsv' with { type: 'text' }

/** Prices by model id as published on 2026-08-21: what serves when no provider tells a newer one (rulings, 27). */
export const BUILT_IN_PRICES: ReadonlyMap<string, TokenPrice> = new Map(
  table
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [id = '', input, output] = line.split('\t')
      return [id, { inputUsdPerMillion: Number(input), outputUsdPerMillion: Number(output) }]
    }),
)
