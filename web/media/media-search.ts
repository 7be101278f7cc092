import { z } from 'zod'

/** `sample` reads the free preview only. */
export const FeedsSearch = z.object({
  feed: z.coerce.string().max(100).optional().catch(undefined),
  sample: z.literal('1').optional().catch(undefined),
})

export const VideoSearch = z.object({
  type: z.enum(['demo', 'marketing', 'screenshot', 'tutorial']).optional().catch(undefined),
})
