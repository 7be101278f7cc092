import { z } from 'zod'

/** `?limit=` of paginated lists: default 50, at most 100. */
export const PageLimit = z.coerce
  .number('limit must be a number')
  .int('limit must be a whole number')
  .min(1, 'limit must be at least 1')
  .max(100, 'limit must be at most 100')
  .default(50)
