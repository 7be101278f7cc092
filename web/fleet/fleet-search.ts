import { z } from 'zod'
import { AgentStatus } from '../../src/features/agents/registry/schemas.ts'
import { FLEET_SORTS } from '../../src/features/monitoring/fleet/schemas.ts'

export const FleetSearch = z.object({
  search: z.coerce.string().trim().min(1).max(100).optional().catch(undefined),
  status: AgentStatus.optional().catch(undefined),
  label: z.coerce.string().min(1).max(40).optional().catch(undefined),
  sort: z.enum(FLEET_SORTS).optional().catch(undefined),
  order: z.enum(['asc', 'desc']).optional().catch(undefined),
})
export type FleetSearch = z.infer<typeof FleetSearch>
