import { z } from 'zod'

const Words = z.coerce.string().max(254).optional().catch(undefined)

/** Search of `/admin/agents`: what the list is narrowed to. */
export const AllAgentsSearch = z.object({
  search: Words,
  status: z
    .enum(['pending', 'provisioning', 'running', 'sleeping', 'stopped', 'error', 'unknown'])
    .optional()
    .catch(undefined),
})
export type AllAgentsSearch = z.infer<typeof AllAgentsSearch>

/** Search of `/admin/jobs`: the state of those that are listed, `dead` without one. */
export const JobsSearch = z.object({ state: z.enum(['dead', 'queued', 'running', 'done']).optional().catch(undefined) })

/** Search of `/admin/settings`: `given` leaves out what is as it comes. */
export const SettingsSearch = z.object({ search: Words, show: z.literal('given').optional().catch(undefined) })
