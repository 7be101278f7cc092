import type { TokenPrice } from '../../../../core/money.ts'
import table from './prices.tsv' with { type: 'text' }

/** What is known of a model without asking anybody; `contextLength` is in tokens, null where it is not known. */
export type BuiltInModel = { price: TokenPrice; contextLength: number | null }

/** Models by id as published on 2026-08-21: what serves where no provider tells something newer (decisions, 27). */
export const BUILT_IN_MODELS: ReadonlyMap<string, BuiltInModel> = new Map(
  table
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [id = '', input, output, cached, contextLength] = line.split('\t')
      const price = {
        inputUsdPerMillion: Number(input),
        outputUsdPerMillion: Number(output),
        ...(cached && { cachedInputUsdPerMillion: Number(cached) }),
      }
      return [id, { price, contextLength: contextLength ? Number(contextLength) : null }]
    }),
)
