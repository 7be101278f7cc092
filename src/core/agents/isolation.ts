import { z } from 'zod'

/**
 * How an agent is separated from the host and from other agents; `by` is null where nothing isolates it. `reason` says
 * why not, or which part is shared with the host. `egressEnforced`: its connections pass the platform's proxy only.
 */
export const Isolation = z.object({
  by: z.enum(['bubblewrap', 'docker']).nullable(),
  reason: z.string().nullable(),
  egressEnforced: z.boolean(),
})
export type Isolation = z.infer<typeof Isolation>
