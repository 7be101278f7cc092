import { z } from 'zod'

/** Query of `GET /api/feeds`: without `feed` it lists the feeds; `preview=true` returns the source's free sample. */
export const FeedQuery = z.object({
  feed: z.string().max(100, 'feed must be at most 100 characters').optional(),
  preview: z
    .string()
    .optional()
    .transform((text) => text === 'true'),
})

/**
 * List of feeds. `endpoint` and `preview` are URLs of this platform: the source's URL may hold a key and is never
 * returned.
 */
export const FeedList = z.object({
  feeds: z.array(z.object({ id: z.string(), endpoint: z.string(), preview: z.string().nullable() })),
  total: z.number(),
  docs: z.string(),
})
export type FeedList = z.infer<typeof FeedList>

/** The source's JSON, unchanged. `stale` means that the source fails and this is its last good answer. */
export const Feed = z.object({
  feed: z.string(),
  source: z.string(),
  data: z.unknown(),
  fetchedAt: z.string(),
  stale: z.boolean(),
})
export type Feed = z.infer<typeof Feed>

/** Response of `GET /api/feeds`, without and with `feed`. */
export const FeedResponse = z.union([FeedList, Feed])
