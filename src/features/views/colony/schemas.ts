import { z } from 'zod'

/** `GET /api/colony/status?action=` (Interface 4.15). */
export const ColonyQuery = z.object({
  action: z.enum(['tree', 'soul', 'diagnostics'], 'Unknown action').default('tree'),
})

/** An agent of the colony. `fitness` is 0 while nothing measures it; `uptime` is in seconds. */
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

/** Every answer says that it holds placeholders for what is not measured, and which. */
const Degraded = z.object({ degraded: z.literal(true), detail: z.string() })

export const ColonyTree = Degraded.extend({
  colony_size: z.number(),
  avg_fitness: z.number(),
  fittest: ColonyAgent.nullable(),
  cull_queue: z.number(),
  agents: z.array(ColonyAgent),
  root: z.object({
    address: z.string(),
    designation: z.string().nullable(),
    dashboardUrl: z.string(),
    serviceUrl: z.string(),
    fitness: z.null(),
    wallet_balance: z.null(),
    clone_available: z.boolean(),
    clone_price: z.string(),
    soul: z.object({
      active: z.boolean(),
      dormant: z.boolean(),
      total_cycles: z.number(),
      mode: z.string(),
      active_plan: z.null(),
      free_energy: z.null(),
      brain: z.null(),
      transformer: z.null(),
    }),
    colony: z.null(),
  }),
})
export type ColonyTree = z.infer<typeof ColonyTree>

export const ColonySoul = Degraded.extend({
  active: z.boolean(),
  dormant: z.boolean(),
  total_cycles: z.number(),
  last_think_at: z.null(),
  mode: z.string(),
  tools_enabled: z.boolean(),
  coding_enabled: z.boolean(),
  cycle_health: z.null(),
  active_plan: z.null(),
  fitness: z.null(),
  beliefs: z.array(z.never()),
  goals: z.array(z.never()),
  recent_thoughts: z.array(z.never()),
  brain: z.null(),
  transformer: z.null(),
  benchmark: z.null(),
  capability_profile: z.null(),
  role: z.null(),
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

/** `success_rate` is a share of 1; outcomes are those of the tasks of swarms. */
export const ColonyDiagnostics = Degraded.extend({
  overview: z.object({
    total_outcomes: z.number(),
    completed: z.number(),
    failed: z.number(),
    success_rate: z.number(),
  }),
  error_distribution: z.array(z.object({ category: z.string(), count: z.number() })),
  stagnation: z.object({
    cycles_since_commit: z.number(),
    risk_level: z.string(),
    cycles_until_reset: z.number(),
  }),
  capability_bottleneck: z.null(),
  recommendations: z.array(z.string()),
})
export type ColonyDiagnostics = z.infer<typeof ColonyDiagnostics>

/** `GET /api/colony/status`, by action. */
export const ColonyStatus = z.union([ColonyTree, ColonySoul, ColonyDiagnostics])
