import { z } from 'zod'
import { Label } from '../../agents/management/schemas.ts'
import { AgentStatus } from '../../agents/registry/schemas.ts'

const MAX_PAGE = 100
/** Maximum number of agents per bulk request. */
const MAX_CHANGED = 20

/** Sort keys; `status` puts agents with problems first. */
export const FLEET_SORTS = ['name', 'status', 'messages', 'cost', 'activity', 'created'] as const

/** `GET /api/fleet`: `order` defaults to the natural order of `sort`. */
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

/**
 * Figures that change while the list is open: messages and their cost today (UTC); the cost is null when it is unknown.
 */
export const FleetFigures = z.object({
  id: z.string(),
  name: z.string(),
  status: AgentStatus,
  messagesToday: z.number(),
  costTodayUsd: z.number().nullable(),
})
export type FleetFigures = z.infer<typeof FleetFigures>

/**
 * An agent in the list. `uptime` holds the last 30 hours, the current one last, as percent of the monitored time; null
 * where the agent was not monitored. `lastActivity` is the time of the last message. `runtime` is `machine` for an agent
 * on its owner's machine.
 */
export const FleetAgent = FleetFigures.extend({
  model: z.string(),
  runtime: z.string().nullable(),
  lastError: z.string().nullable(),
  labels: z.array(z.string()),
  uptime: z.array(z.number().nullable()),
  lastActivity: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
})
export type FleetAgent = z.infer<typeof FleetAgent>

/**
 * `total` counts agents that match the query, `statuses` those that match all of it but the status, `labels` all of the
 * user's agents.
 */
export const FleetPage = z.object({
  agents: z.array(FleetAgent),
  total: z.number(),
  statuses: z.partialRecord(AgentStatus, z.number()),
  labels: z.array(z.object({ label: z.string(), agents: z.number() })),
})
export type FleetPage = z.infer<typeof FleetPage>

/**
 * An `agents` event of `GET /api/fleet/events`: agents that changed and ids that disappeared since the previous event.
 */
export const FleetEvent = z.object({ changed: z.array(FleetFigures), gone: z.array(z.string()) })
export type FleetEvent = z.infer<typeof FleetEvent>

const FLEET_VERBS = ['start', 'stop', 'restart', 'update', 'delete'] as const

/** `POST /api/fleet/changes`. */
export const FleetChange = z.object({
  verb: z.enum(FLEET_VERBS, `verb must be one of ${FLEET_VERBS.join(', ')}`),
  agentIds: z
    .array(z.string('agentIds must be a list of texts'), 'agentIds must be a list of texts')
    .min(1, 'agentIds must name an agent')
    .max(MAX_CHANGED, `agentIds names at most ${MAX_CHANGED} agents`),
})
export type FleetChange = z.infer<typeof FleetChange>

/** One result per requested agent, in order; `error` is null on success. */
export const FleetChanged = z.object({
  results: z.array(z.object({ id: z.string(), error: z.string().nullable() })),
})
export type FleetChanged = z.infer<typeof FleetChanged>
