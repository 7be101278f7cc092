import { z } from 'zod'
import { Trace } from './schemas.ts'

/** `GET /api/mission-control/fleet/graph`. */
export const BackendMissionControlFleetGraphAnswer = z.object({
  nodes: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      type: z.string(),
      status: z.string(),
      metadata: z.object({ model: z.string(), plan: z.string(), createdAt: z.string() }),
    }),
  ),
  edges: z.array(z.object({ id: z.string(), source: z.string(), target: z.string(), label: z.string() })),
})

/** `GET /api/mission-control/fleet/traces`. */
export const BackendMissionControlFleetTracesAnswer = z.array(
  z.object({
    id: z.number(),
    user_id: z.string(),
    agent_id: z.string(),
    model: z.string(),
    provider: z.string(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost_usd: z.number(),
    latency_ms: z.number().nullable(),
    success: z.boolean(),
    created_at: z.string(),
  }),
)

/** `GET /api/mission-control/fleet/costs`. */
export const BackendMissionControlFleetCostsAnswer = z.array(
  z.object({ agent_id: z.string(), total_spend: z.number(), category: z.string() }),
)

/** `GET /api/mission-control/fleet/bookings`. */
export const BackendMissionControlFleetBookingsAnswer = z.array(
  z.object({
    id: z.string(),
    user_id: z.string().nullable(),
    agent_id: z.string().nullable(),
    talent_agent_id: z.string().nullable(),
    event_id: z.number().nullable(),
    event_name: z.string(),
    status: z.enum(['offered', 'confirmed', 'declined']),
    proposed_price_usdc: z.string(),
    final_price_usdc: z.string().nullable(),
    created_at: z.string(),
  }),
)

/** `GET /api/mission-control/fleet/traces`. */
export const MissionControlFleetTracesAnswer = z.array(Trace)
