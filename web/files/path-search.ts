import { z } from 'zod'

/** The open file. The router parses values that look like numbers. */
export const PathSearch = z.object({ path: z.coerce.string().max(4096).optional().catch(undefined) })
