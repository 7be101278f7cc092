import { z } from 'zod'
import { AgentStatus } from '../../src/features/agents/registry/schemas.ts'
import { CostQuery } from '../../src/features/ai/usage/schemas.ts'
import { FLEET_SORTS } from '../../src/features/monitoring/fleet/schemas.ts'
import { LEVELS, type LogFilter } from '../logs/log-lines.ts'

/** The agent being deployed, so that a reload keeps watching. */
export const CreateSearch = z.object({
  agent: z.coerce.string().optional().catch(undefined),
  name: z.coerce.string().optional().catch(undefined),
})

/** The outcome of connecting an MCP server, set by its callback. */
export const AgentSettingsSearch = z.object({ mcp: z.coerce.string().max(20).optional().catch(undefined) })

const Id = z.coerce.string().min(1).max(255).optional().catch(undefined)

export const CostSearch = z.object({
  period: CostQuery.shape.period.unwrap().catch('7d').default('7d'),
  agent: Id,
  model: Id,
  key: Id,
})

const Filter = z.coerce.string().trim().min(1).max(512).optional().catch(undefined)

/** Filters of the request log, and the shown request. */
export const RequestsSearch = z.object({
  key: Filter,
  agent: Filter,
  model: Filter,
  endUser: Filter,
  tag: Filter,
  status: z.enum(['succeeded', 'failed']).optional().catch(undefined),
  request: Filter,
})
export type RequestsSearch = z.infer<typeof RequestsSearch>

/** The open file. The router parses values that look like numbers. */
export const PathSearch = z.object({ path: z.coerce.string().max(4096).optional().catch(undefined) })

export const FleetSearch = z.object({
  search: z.coerce.string().trim().min(1).max(100).optional().catch(undefined),
  status: AgentStatus.optional().catch(undefined),
  label: z.coerce.string().min(1).max(40).optional().catch(undefined),
  sort: z.enum(FLEET_SORTS).optional().catch(undefined),
  order: z.enum(['asc', 'desc']).optional().catch(undefined),
})
export type FleetSearch = z.infer<typeof FleetSearch>

/** `sample` reads the free preview only. */
export const FeedsSearch = z.object({
  feed: z.coerce.string().max(100).optional().catch(undefined),
  sample: z.literal('1').optional().catch(undefined),
})

export const VideoSearch = z.object({
  type: z.enum(['demo', 'marketing', 'screenshot', 'tutorial']).optional().catch(undefined),
})

const Word = z.coerce.string().trim().min(1).max(200).optional().catch(undefined)

const MODEL_SORTS = ['name', 'input', 'output', 'context'] as const
export const MODEL_ABILITIES = ['tools', 'vision', 'free'] as const

export const ModelsSearch = z.object({
  search: Word,
  provider: Word,
  can: z.enum(MODEL_ABILITIES).optional().catch(undefined),
  sort: z.enum(MODEL_SORTS).optional().catch(undefined),
  order: z.enum(['asc', 'desc']).optional().catch(undefined),
  try: Word,
  against: Word,
})
export type ModelsSearch = z.infer<typeof ModelsSearch>

const Words = z.coerce.string().max(254).optional().catch(undefined)

export const AllAgentsSearch = z.object({
  search: Words,
  status: z
    .enum(['pending', 'provisioning', 'running', 'sleeping', 'stopped', 'error', 'unknown'])
    .optional()
    .catch(undefined),
})
export type AllAgentsSearch = z.infer<typeof AllAgentsSearch>

/** State of the listed jobs; `dead` when absent. */
export const JobsSearch = z.object({ state: z.enum(['dead', 'queued', 'running', 'done']).optional().catch(undefined) })

/** `given` hides settings with their default value. */
export const SettingsSearch = z.object({ search: Words, show: z.literal('given').optional().catch(undefined) })

export const InboxSearch = z.object({ agent: z.coerce.string().max(100).optional().catch(undefined) })

/** The router parses values that look like numbers. */
const Time = z.coerce.number().int().positive().optional().catch(undefined)

/** `line` is the stored line to show; `q`, `level`, `from` and `to` (ms since 1970) are the filter. */
export const LineSearch = z.object({
  line: z.coerce.number().int().positive().optional().catch(undefined),
  q: z.coerce.string().max(200).optional().catch(undefined),
  level: z.enum(LEVELS).optional().catch(undefined),
  from: Time,
  to: Time,
})
export type LineSearch = z.infer<typeof LineSearch>

export function toLogFilter({ q, level, from, to }: LineSearch): LogFilter {
  const range = from === undefined ? null : { from, to: to ?? Number.POSITIVE_INFINITY }
  return { text: q ?? '', level: level ?? null, range }
}

export function toLineSearch({ text, level, range }: LogFilter): Omit<LineSearch, 'line'> {
  return {
    q: text || undefined,
    level: level ?? undefined,
    from: range ? Math.floor(range.from) : undefined,
    to: range && Number.isFinite(range.to) ? Math.ceil(range.to) : undefined,
  }
}
