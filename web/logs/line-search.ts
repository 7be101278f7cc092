import { z } from 'zod'

/** `?line=`: the number of a stored line to go to. The router reads what looks like a number as one. */
export const LineSearch = z.object({
  line: z.coerce.number().int().positive().optional().catch(undefined),
})
