import { z } from 'zod'
import { Label } from '../../agents/management/schemas.ts'
import { AgentStatus } from '../../agents/registry/schemas.ts'

const MAX_PAGE = 100
/** So many are changed at once; whoever has more asks again. */
const MAX_CHANGED = 20

/** What a list of agents can be sorted by; `status` puts what needs a look first. */
export const FLEET_SORTS = ['name', 'status', 'messages', 'cost', 'activity', 'created'] as const

/** `GET /api/fleet`: `order` is the natural one of `sort` unless it is given. */
export const FleetQuery = z.object({
  search: z.string().trim().max(100, 'search must be at most 100 characters').default(''),
  status: AgentStatus.optional(),
  label: Label.optional(),
  sort: z.enum(FLEET_SORTS, `sort must be one of ${FLEET_SORTS.join(', ')}`).default('name'),
  order: z.enum(['asc', 'desc'], 'order must be asc or desc').optional(),
  limit: z.coerce
    .number('limit must be a number')
    .int('limit must be a whole number')
    .min(1, 'limit must be at least 1')
    .max(MAX_PAGE, `limit must be at most ${MAX_PAGE}`)
    .default(50),
  offset: z.coerce
    .number('offset must be a number')
    .int('offset must be a whole number')
    .min(0, 'offset must not be negative')
    .default(0),
})
export type FleetQuery = z.infer<typeof FleetQuery>

/** What changes of an agent while somebody looks on: messages and their cost today (UTC), null when no cost is known. */
export const FleetFigures = z.object({
  id: z.string(),
  name: z.string(),
  status: AgentStatus,
  messagesToday: z.number(),
  costTodayUsd: z.number().nullable(),
})
export type FleetFigures = z.infer<typeof FleetFigures>

/**
 * One agent of many. `uptime` has the last 30 hours, the one under way last: percent of the time in which the agent was
 * looked after, null where nobody looked. `lastActivity` is when something was last said.
 */
export const FleetAgent = FleetFigures.extend({
  model: z.string(),
  lastError: z.string().nullable(),
  labels: z.array(z.string()),
  uptime: z.array(z.number().nullable()),
  lastActivity: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
})
export type FleetAgent = z.infer<typeof FleetAgent>

/** `total` counts what fits the query, `statuses` what fits all of it but the status, `labels` all of one's agents. */
export const FleetPage = z.object({
  agents: z.array(FleetAgent),
  total: z.number(),
  statuses: z.partialRecord(AgentStatus, z.number()),
  labels: z.array(z.object({ label: z.string(), agents: z.number() })),
})
export type FleetPage = z.infer<typeof FleetPage>

/** One `agents` event of `GET /api/fleet/events`: what is new or other since the one before, and who is gone. */
export const FleetEvent = z.object({ changed: z.array(FleetFigures), gone: z.array(z.string()) })
export type FleetEvent = z.infer<typeof FleetEvent>

export const FLEET_VERBS = ['start', 'stop', 'restart', 'update', 'delete'] as const

/** `POST /api/fleet/changes`. */
export const FleetChange = z.object({
  verb: z.enum(FLEET_VERBS, `verb must be one of ${FLEET_VERBS.join(', ')}`),
  agentIds: z
    .array(z.string('agentIds must be a list of texts'), 'agentIds must be a list of texts')
    .min(1, 'agentIds must name an agent')
    .max(MAX_CHANGED, `agentIds names at most ${MAX_CHANGED} agents`),
})
export type FleetChange = z.infer<typeof FleetChange>

/** What became of each, in the order of the request; `error` says why nothing did. */
export const FleetChanged = z.object({
  results: z.array(z.object({ id: z.string(), error: z.string().nullable() })),
})
export type FleetChanged = z.infer<typeof FleetChanged>
