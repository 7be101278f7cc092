import { z } from 'zod'

/**
 * Response of `GET /api/admin/update`: the running version and the newest one of `RELEASE_FEED_URL`, null until the
 * feed was read. `error` is the reason of the last failure.
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
