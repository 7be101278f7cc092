import { z } from 'zod'

/** `?path=`: the file that is open. The router reads what looks like a number as one. */
export const PathSearch = z.object({ path: z.coerce.string().max(4096).optional().catch(undefined) })
