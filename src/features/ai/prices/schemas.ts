import { z } from 'zod'

const MAX_USD = 1_000_000
const Usd = (name: string) => {
  const message = `${name} must be a number from 0 to ${MAX_USD}`
  return z.number(message).min(0, message).max(MAX_USD, message)
}

/** `PUT /api/admin/prices/:model`: US dollars per million tokens; 0 and 0 is a free model. */
export const PriceRequest = z
  .object({
    inputUsdPerMillion: Usd('inputUsdPerMillion'),
    outputUsdPerMillion: Usd('outputUsdPerMillion'),
    cachedInputUsdPerMillion: Usd('cachedInputUsdPerMillion').nullish(),
  })
  .meta({ examples: [{ inputUsdPerMillion: 0.15, outputUsdPerMillion: 0.6 }] })
export type PriceRequest = z.infer<typeof PriceRequest>

/** A price that an administrator set, in US dollars per million tokens. */
export const ModelPrice = z.object({
  model: z.string(),
  inputUsdPerMillion: z.number(),
  outputUsdPerMillion: z.number(),
  cachedInputUsdPerMillion: z.number().nullable(),
  updatedAt: z.string(),
})
export type ModelPrice = z.infer<typeof ModelPrice>

/** `GET /api/admin/prices`: the prices that administrators set, and the models on offer whose price is unknown. */
export const ModelPriceList = z.object({
  prices: z.array(ModelPrice),
  unpriced: z.array(z.object({ model: z.string(), provider: z.string() })),
})
export type ModelPriceList = z.infer<typeof ModelPriceList>

/** `DELETE /api/admin/prices/:model`. */
export const DeletedPrice = z.object({ model: z.string(), deleted: z.literal(true) })
