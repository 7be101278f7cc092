import { z } from 'zod'

/**
 * `GET /api/admin/update`: the running version and the newest one of `RELEASE_FEED_URL`, null until the feed was read. `error`
 * is why the last check failed.
 */
export const UpdateNotice = z.object({
  isConfigured: z.boolean(),
  current: z.string(),
  latest: z.string().nullable(),
  isNewer: z.boolean(),
  url: z.string().nullable(),
  checkedAt: z.iso.datetime().nullable(),
  error: z.string().nullable(),
})
export type UpdateNotice = z.infer<typeof UpdateNotice>
