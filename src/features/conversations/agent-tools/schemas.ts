import { z } from 'zod'
import { LIMITS, TOOL_NAMES, TOOL_PROFILES } from '../../../core/agents/agent-tools.ts'

const badLimit = (name: string, max: number) => `${name} must be a whole number from 1 to ${max}`
const Limit = (name: string, max: number) =>
  z.int(badLimit(name, max)).min(1, badLimit(name, max)).max(max, badLimit(name, max))
const BAD_USD = 'maxUsd must be a number of dollars from 0.001 to 1000, or null'

const BAD_HOST = 'httpHosts must be at most 100 host names such as api.example.com or *.example.com'
const Host = z
  .string(BAD_HOST)
  .toLowerCase()
  .regex(/^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, BAD_HOST)

/** Body of `PUT /api/agents/:id/tools`. Omitted fields stay unchanged; null restores the default. */
export const ToolsRequest = z.object({
  profile: z.enum(TOOL_PROFILES, `profile must be one of ${TOOL_PROFILES.join(', ')}`).nullish(),
  switches: z
    .partialRecord(z.enum(TOOL_NAMES, 'switches names a tool that there is not'), z.boolean().nullable())
    .optional(),
  httpHosts: z.array(Host, BAD_HOST).max(100, BAD_HOST).optional(),
  /** Must be true to enable commands for an agent that is not isolated; false takes it back. */
  acceptNotIsolated: z.boolean('acceptNotIsolated must be true or false').optional(),
  limits: z
    .object({
      modelTurns: Limit('modelTurns', LIMITS.modelTurns.max).nullish(),
      toolCalls: Limit('toolCalls', LIMITS.toolCalls.max).nullish(),
      maxUsd: z.number(BAD_USD).min(0.001, BAD_USD).max(1000, BAD_USD).nullish(),
    })
    .optional(),
})
export type ToolsRequest = z.infer<typeof ToolsRequest>

/**
 * `isChosen`: the owner has chosen the profile; otherwise it comes from the plan. A tool with `profile` null is in no
 * profile and needs its own switch. `unavailable` is the reason why a tool cannot be enabled, or needs
 * `acceptNotIsolated`, which `canAcceptNotIsolated` allows.
 */
export const AgentTools = z.object({
  profile: z.enum(TOOL_PROFILES),
  isChosen: z.boolean(),
  tools: z.array(
    z.object({
      name: z.string(),
      profile: z.enum(TOOL_PROFILES).nullable(),
      isOn: z.boolean(),
      approval: z.enum(['never', 'sometimes', 'always']),
      where: z.enum(['agent', 'platform']),
      unavailable: z.string().nullable(),
    }),
  ),
  canAcceptNotIsolated: z.boolean(),
  acceptsNotIsolated: z.boolean(),
  httpHosts: z.array(z.string()),
  limits: z.object({ modelTurns: z.number(), toolCalls: z.number(), maxUsd: z.number().nullable() }),
})
export type AgentTools = z.infer<typeof AgentTools>

/**
 * Answer of `GET /v1/tools`: the agent's own tools and limits. `price` is null if the model's price is unknown,
 * `timeZone` if the owner's is.
 */
export const OwnTools = z.object({
  tools: z.array(z.string()),
  hasMcp: z.boolean(),
  acceptsNotIsolated: z.boolean(),
  limits: AgentTools.shape.limits,
  price: z.object({ inputUsdPerMillion: z.number(), outputUsdPerMillion: z.number() }).nullable(),
  timeZone: z.string().nullable(),
})
