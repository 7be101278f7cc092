import { z } from 'zod'

const MAX_AGENTS = 10
const badAgents = 'agents must be a list of agent ids'
const badPage = 'limit must be a whole number from 1 to 100'

const Name = z.string('Name required').trim().min(1, 'Name required').max(100, 'Name too long (max 100 chars)')
const Description = z
  .string('description must be text')
  .trim()
  .max(2000, 'description must be at most 2000 characters')
  .nullable()
const AgentId = z.string(badAgents).min(1, badAgents).max(100, badAgents)

/** A member: an agent id, or an id with a role and a prompt that precede every task. */
export const Member = z.union(
  [
    AgentId,
    z.object({
      id: AgentId,
      role: z.string().trim().max(200).optional(),
      prompt: z.string().trim().max(10_000).optional(),
    }),
  ],
  badAgents,
)
export type Member = z.infer<typeof Member>

const Members = z
  .array(Member, badAgents)
  .max(MAX_AGENTS, `A swarm has at most ${MAX_AGENTS} agents`)
  .refine((members) => new Set(members.map(idOf)).size === members.length, { error: 'agents names an agent twice' })
const Summarizer = z.string('summarizer must be an agent id').max(100, 'summarizer must be an agent id').nullable()
const Enabled = z.boolean('enabled must be true or false')

export function idOf(member: Member): string {
  return typeof member === 'string' ? member : member.id
}

/** Body of `POST /api/swarms`. `summarizer` is one of the agents and summarizes all answers. */
export const CreateSwarmRequest = z
  .object({
    name: Name,
    description: Description.optional(),
    agents: Members.default([]),
    summarizer: Summarizer.optional(),
  })
  .meta({ examples: [{ name: 'Editors', agents: ['ada', { id: 'bo', role: 'critic' }], summarizer: 'ada' }] })
export type CreateSwarmRequest = z.infer<typeof CreateSwarmRequest>

/** Body of `PATCH /api/swarms/:id`. */
export const ChangeSwarmRequest = z
  .object({
    name: Name.optional(),
    description: Description.optional(),
    agents: Members.optional(),
    summarizer: Summarizer.optional(),
    enabled: Enabled.optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), { error: 'Nothing to change' })
export type ChangeSwarmRequest = z.infer<typeof ChangeSwarmRequest>

/** Body of `POST /api/swarms/:id/run`. */
export const RunRequest = z.object({
  task: z.string('Task required').trim().min(1, 'Task required').max(20_000, 'Task must be at most 20000 characters'),
})

/** Query of lists: `before` is the id of the oldest known entry. */
export const PageQuery = z.object({
  limit: z.coerce.number(badPage).int(badPage).min(1, badPage).max(100, badPage).default(50),
  before: z.string().max(100).optional(),
})
export type PageQuery = z.infer<typeof PageQuery>

/** A swarm as its owner sees it; members keep the form in which they were given. */
export const Swarm = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  agents: z.array(Member),
  summarizer: z.string().nullable(),
  enabled: z.boolean(),
  createdAt: z.string(),
})
export type Swarm = z.infer<typeof Swarm>

/** Newest first; `count` is that of this page. */
export const SwarmList = z.object({ swarms: z.array(Swarm), count: z.number(), hasMore: z.boolean() })
export type SwarmList = z.infer<typeof SwarmList>

/** State of a run; all but `running` are final. */
const RunState = z.enum(['running', 'completed', 'partially_failed', 'failed', 'cancelled'])

export const RunLine = z.object({
  id: z.string(),
  swarmId: z.string(),
  task: z.string(),
  state: RunState,
  startedAt: z.string(),
  finishedAt: z.string().nullable(),
})
export type RunLine = z.infer<typeof RunLine>

/** The first 100,000 characters of an agent's answer; the conversation has the whole answer. */
export const RunAnswer = z.object({
  agentId: z.string(),
  name: z.string(),
  state: z.enum(['queued', 'running', 'completed', 'failed', 'cancelled']),
  result: z.string().nullable(),
  error: z.string().nullable(),
  durationMs: z.number().nullable(),
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
})
export type RunAnswer = z.infer<typeof RunAnswer>

/** A run with its answers, in the swarm's order. */
export const SwarmRun = RunLine.extend({
  agents: z.array(RunAnswer),
  summarizer: z.string().nullable(),
  summary: z.string().nullable(),
  summaryError: z.string().nullable(),
})
export type SwarmRun = z.infer<typeof SwarmRun>

/** Newest first; `count` is that of this page. */
export const SwarmRunList = z.object({ runs: z.array(RunLine), count: z.number(), hasMore: z.boolean() })
export type SwarmRunList = z.infer<typeof SwarmRunList>
