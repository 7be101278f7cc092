import { z } from 'zod'

/** An agent in the graph. `load` and `memory` are percentages, null when not measured; `uptime` in seconds. */
export const FleetNode = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(['orchestrator', 'specialist', 'worker']),
  status: z.enum(['active', 'idle', 'offline']),
  x: z.number(),
  y: z.number(),
  load: z.number().nullable(),
  memory: z.number().nullable(),
  uptime: z.number().optional(),
  url: z.string().optional(),
})
export type FleetNode = z.infer<typeof FleetNode>

/** Two agents that worked on the same tasks; `strength` is 1 for the pair with the most common runs. */
export const FleetEdge = z.object({ id: z.string(), from: z.string(), to: z.string(), strength: z.number() })
export type FleetEdge = z.infer<typeof FleetEdge>

/** `GET /api/mission-control/fleet/graph`. */
export const FleetGraph = z.object({
  nodes: z.array(FleetNode),
  edges: z.array(FleetEdge),
  timestamp: z.string(),
  source: z.enum(['soul', 'degraded', 'unauthenticated']),
  degraded: z.literal(true).optional(),
  detail: z.string().optional(),
  nodeCount: z.number(),
  stats: z.object({
    totalAgents: z.number(),
    activeAgents: z.number(),
    idleAgents: z.number(),
    offlineAgents: z.number(),
  }),
  dashboardUrl: z.string(),
})
export type FleetGraph = z.infer<typeof FleetGraph>

/** A model call; `failed` when it got no response. */
export const Trace = z.object({
  id: z.string(),
  status: z.enum(['completed', 'failed']),
  description: z.string(),
  startedAt: z.string(),
  completedAt: z.string(),
  tokensUsed: z.number(),
  /** Null when the cost is unknown. */
  costUSD: z.number().nullable(),
  /** The provider reported no usage. */
  estimated: z.boolean(),
  model: z.string(),
})
export type Trace = z.infer<typeof Trace>

/** `monthlyCost` is an agent's usage this month (UTC), `totalSpend` the usage of all agents ever, in US dollars. */
export const FleetCosts = z.object({
  costs: z.array(
    z.object({
      agentId: z.string(),
      agentName: z.string(),
      status: z.string(),
      tier: z.string(),
      monthlyCost: z.number().nullable(),
      createdAt: z.string(),
    }),
  ),
  totalSpend: z.number().nullable(),
  /** Calls without a price, which the costs exclude. */
  unpricedCalls: z.number().optional(),
  managedAiCost: z.number(),
  coordinationRevenue: z.literal(0),
  plan: z.string().optional(),
  agentCount: z.number().optional(),
  activeAgents: z.number().optional(),
  monthsActive: z.number().optional(),
})
export type FleetCosts = z.infer<typeof FleetCosts>

/** Agents that wait for their first deployment, newest first. */
export const Bookings = z.object({
  bookings: z.array(
    z.object({
      id: z.string(),
      agentName: z.string(),
      status: z.literal('pending'),
      tier: z.string(),
      createdAt: z.string(),
    }),
  ),
})
export type Bookings = z.infer<typeof Bookings>

/** `?userId=` of the backend API: only this user's rows. */
export const MissionControlQuery = z.object({ userId: z.string().max(100).optional() })

/** `GET /api/mission-control/fleet/traces` of the web API: newest first. */
export const TraceList = z.array(Trace)

/** `GET /api/mission-control/fleet/graph` of the backend API. */
export const BackendGraph = z.object({
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

/** `GET /api/mission-control/fleet/traces` of the backend API: model calls, newest first. */
export const BackendTraces = z.array(
  z.object({
    id: z.number(),
    user_id: z.string(),
    agent_id: z.string(),
    model: z.string(),
    provider: z.string(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost_usd: z.number().nullable(),
    latency_ms: z.number().nullable(),
    success: z.boolean(),
    created_at: z.string(),
  }),
)

/** `GET /api/mission-control/fleet/costs` of the backend API, in US dollars. */
export const BackendCosts = z.array(
  z.object({
    agent_id: z.string(),
    total_spend: z.number().nullable(),
    unpriced_calls: z.number().optional(),
    category: z.string(),
  }),
)

/**
 * `GET /api/mission-control/fleet/bookings` of the backend API: bookings between agents; prices are decimal text in
 * USDC.
 */
export const BackendBookings = z.array(
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
