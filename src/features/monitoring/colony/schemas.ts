import { z } from 'zod'

/** `GET /api/colony/status?action=`. */
export const ColonyQuery = z.object({
  action: z.enum(['tree', 'soul', 'diagnostics'], 'Unknown action').default('tree'),
})

/** An agent of the colony. `fitness` is 0 to 100, 0 without activity; `uptime` in seconds. */
export const ColonyAgent = z.object({
  id: z.string(),
  name: z.string(),
  generation: z.number(),
  fitness: z.number(),
  specialization: z.string(),
  children: z.number(),
  parent: z.string().nullable(),
  walletAddress: z.string().nullable(),
  status: z.enum(['active', 'stale', 'culling']),
  createdAt: z.string(),
  url: z.string(),
  endpoints: z.array(z.object({ slug: z.string(), description: z.string(), price: z.string() })),
  uptime: z.number(),
  version: z.string(),
})
export type ColonyAgent = z.infer<typeof ColonyAgent>

/** `degraded` lists the fields that are null because the platform does not record them. */
const Degraded = z.object({ degraded: z.array(z.string()), detail: z.string() })

export const ColonyTree = Degraded.extend({
  colony_size: z.number(),
  avg_fitness: z.number(),
  fittest: ColonyAgent.nullable(),
  cull_queue: z.number(),
  agents: z.array(ColonyAgent),
  root: z.object({
    address: z.string(),
    designation: z.null(),
    dashboardUrl: z.string(),
    serviceUrl: z.string(),
    fitness: z.object({ total: z.number(), prediction: z.number(), execution: z.number() }).nullable(),
    wallet_balance: z.object({ formatted: z.string(), token: z.string() }).nullable(),
    clone_available: z.boolean(),
    clone_price: z.string(),
    soul: z.object({
      active: z.boolean(),
      dormant: z.boolean(),
      total_cycles: z.null(),
      mode: z.null(),
      active_plan: z.null(),
      free_energy: z.null(),
      brain: z.null(),
      transformer: z.null(),
    }),
    colony: z.object({
      rank: z.null(),
      can_spawn: z.boolean(),
      should_cull: z.null(),
      niche: z.null(),
      colony_size: z.number(),
      fitness_rank: z.array(z.object({ address: z.string(), fitness: z.number(), rank: z.number() })),
    }),
  }),
})
export type ColonyTree = z.infer<typeof ColonyTree>

/** `success_rate` is a fraction of 1. */
const Capability = z.object({
  capability: z.string(),
  display_name: z.string(),
  attempts: z.number(),
  successes: z.number(),
  success_rate: z.number(),
})

export const ColonySoul = Degraded.extend({
  active: z.boolean(),
  dormant: z.boolean(),
  total_cycles: z.null(),
  last_think_at: z.number().nullable(),
  mode: z.null(),
  tools_enabled: z.null(),
  coding_enabled: z.null(),
  cycle_health: z.null(),
  active_plan: z.null(),
  fitness: z
    .object({
      total: z.number(),
      trend: z.null(),
      coordination: z.number(),
      economic: z.null(),
      evolution: z.null(),
      execution: z.number(),
      introspection: z.null(),
      prediction: z.number(),
      measured_at: z.number(),
    })
    .nullable(),
  beliefs: z.null(),
  goals: z.null(),
  recent_thoughts: z.null(),
  brain: z.null(),
  transformer: z.null(),
  benchmark: z.null(),
  capability_profile: z
    .object({
      overall_success_rate: z.number(),
      strongest: z.string().nullable(),
      weakest: z.string().nullable(),
      capabilities: z.array(Capability),
    })
    .nullable(),
  role: z.object({
    colony_size: z.number(),
    rank: z.null(),
    self_fitness: z.number(),
    psi: z.null(),
    phase3_ready: z.null(),
    can_spawn: z.boolean(),
  }),
  acceleration: z.null(),
  cortex: z.null(),
  genesis: z.null(),
  hivemind: z.null(),
  synthesis: z.null(),
  evaluation: z.null(),
  free_energy: z.null(),
  lifecycle: z.null(),
})
export type ColonySoul = z.infer<typeof ColonySoul>

/** Outcomes of swarm tasks; `success_rate` is a fraction of 1, the bottleneck is the tool that fails most. */
export const ColonyDiagnostics = Degraded.extend({
  overview: z.object({
    total_outcomes: z.number(),
    completed: z.number(),
    failed: z.number(),
    success_rate: z.number(),
  }),
  error_distribution: z.array(z.object({ category: z.string(), count: z.number() })),
  stagnation: z.object({ cycles_since_commit: z.null(), risk_level: z.null(), cycles_until_reset: z.null() }),
  capability_bottleneck: z
    .object({ capability: z.string(), success_rate: z.string(), attempts: z.number() })
    .nullable(),
  recommendations: z.null(),
})
export type ColonyDiagnostics = z.infer<typeof ColonyDiagnostics>

/** `GET /api/colony/status`: one of three bodies, by action. */
export const ColonyStatus = z.union([ColonyTree, ColonySoul, ColonyDiagnostics])
