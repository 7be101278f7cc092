import { z } from 'zod'

/** A model that can be asked now, as `GET /api/models` lists it. Prices are US dollars per token; null: not known. */
export const ListedModel = z.object({
  id: z.string(),
  name: z.string(),
  provider: z.string(),
  contextLength: z.number().nullable(),
  pricing: z.object({ prompt: z.number(), completion: z.number() }).nullable(),
})
export type ListedModel = z.infer<typeof ListedModel>

export const ModelList = z.object({ models: z.array(ListedModel), defaultModel: z.string().nullable() })
export type ModelList = z.infer<typeof ModelList>
