import { z } from 'zod'

/** The agent being deployed, so that a reload keeps watching. */
export const CreateSearch = z.object({
  agent: z.coerce.string().optional().catch(undefined),
  name: z.coerce.string().optional().catch(undefined),
})
