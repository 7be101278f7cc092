import { z } from 'zod'

const Words = z.coerce.string().max(254).optional().catch(undefined)

export const AllAgentsSearch = z.object({
  search: Words,
  status: z
    .enum(['pending', 'provisioning', 'running', 'sleeping', 'stopped', 'error', 'unknown'])
    .optional()
    .catch(undefined),
})
export type AllAgentsSearch = z.infer<typeof AllAgentsSearch>

/** State of the listed jobs; `dead` when absent. */
export const JobsSearch = z.object({ state: z.enum(['dead', 'queued', 'running', 'done']).optional().catch(undefined) })

/** `given` hides settings with their default value. */
export const SettingsSearch = z.object({ search: Words, show: z.literal('given').optional().catch(undefined) })
