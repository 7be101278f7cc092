import { z } from 'zod'

/** Search of `/agents/new`: the agent whose deployment is being watched, so that a reload goes on watching. */
export const CreateSearch = z.object({
  agent: z.coerce.string().optional().catch(undefined),
  name: z.coerce.string().optional().catch(undefined),
})
