import { z } from 'zod'

/** `GET /api/feeds?feed=&preview=`: without `feed` the list, with `preview=true` the source's free sample. */
export const FeedQuery = z.object({
  feed: z.string().max(100, 'feed must be at most 100 characters').optional(),
  preview: z
    .string()
    .optional()
    .transform((text) => text === 'true'),
})

/** `endpoint` and `preview` are ours; the addresses of the sources may hold keys and are told to nobody. */
export const FeedList = z.object({
  feeds: z.array(z.object({ id: z.string(), endpoint: z.string(), preview: z.string().nullable() })),
  total: z.number(),
  docs: z.string(),
})
export type FeedList = z.infer<typeof FeedList>

/** The JSON of the source as it is. `stale`: the source fails now, and this is the last that it gave. */
export const Feed = z.object({
  feed: z.string(),
  source: z.string(),
  data: z.unknown(),
  fetchedAt: z.string(),
  stale: z.boolean(),
})
export type Feed = z.infer<typeof Feed>

/** `GET /api/feeds`, without and with `feed`. */
export const FeedResponse = z.union([FeedList, Feed])
