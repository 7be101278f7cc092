import { z } from 'zod'

const Word = z.coerce.string().trim().min(1).max(200).optional().catch(undefined)

export const MODEL_SORTS = ['name', 'input', 'output', 'context'] as const
export const MODEL_ABILITIES = ['tools', 'vision', 'free'] as const

export const ModelsSearch = z.object({
  search: Word,
  provider: Word,
  can: z.enum(MODEL_ABILITIES).optional().catch(undefined),
  sort: z.enum(MODEL_SORTS).optional().catch(undefined),
  order: z.enum(['asc', 'desc']).optional().catch(undefined),
  try: Word,
  against: Word,
})
export type ModelsSearch = z.infer<typeof ModelsSearch>
