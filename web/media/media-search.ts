import { z } from 'zod'

/** Search of `/media/feeds`: which one is read, and whether its free sample alone. */
export const FeedsSearch = z.object({
  feed: z.coerce.string().max(100).optional().catch(undefined),
  sample: z.literal('1').optional().catch(undefined),
})

/** Search of `/media/video`: what kind is to be made. */
export const VideoSearch = z.object({
  type: z.enum(['demo', 'marketing', 'screenshot', 'tutorial']).optional().catch(undefined),
})
