import { z } from 'zod'
import { AgentEgress } from '../../agents/egress/schemas.ts'
import { ShownIsolation } from '../../agents/registry/schemas.ts'
import { DayLimits } from '../../ai/breakers/schemas.ts'

/** Areas of what an agent may do. */
export const LEASH_AREAS = ['reach', 'spend', 'send', 'change'] as const

/**
 * Something that an agent may or may not do. `free`: without asking; `sometimes`: asks before the riskier part, which
 * `text` names; `ask`: asks before every use; `never`: not at all.
 */
export const LeashClaim = z.object({
  area: z.enum(LEASH_AREAS),
  name: z.string(),
  mode: z.enum(['free', 'sometimes', 'ask', 'never']),
  text: z.string(),
})
export type LeashClaim = z.infer<typeof LeashClaim>

/**
 * `GET /api/agents/:id/leash`: what an agent may reach, spend, send and change, derived from its settings. `confinement`
 * is why no sandbox confines commands, null where one does. `isolation` is what separates the agent from the server and
 * other agents, `egress` what its programs may connect to. OpenClaw agents have `complete: false`, because their
 * program has tools of its own.
 */
export const Leash = z.object({
  agentId: z.string(),
  complete: z.boolean(),
  confinement: z.string().nullable(),
  isolation: ShownIsolation,
  egress: AgentEgress,
  claims: z.array(LeashClaim),
  limits: DayLimits,
})
export type Leash = z.infer<typeof Leash>
