import { z } from 'zod'
import { AuditList } from '../../accounts/audit/schemas.ts'
import { AgentStatus } from '../../agents/registry/schemas.ts'
import { HostHealth } from '../../monitoring/health/schemas.ts'

const MAX_PAGE = 200
const limit = z.coerce.number().int().min(1).max(MAX_PAGE, `limit must be at most ${MAX_PAGE}`).default(50)

/**
 * `GET /api/admin/agents`: `search` matches a part of the agent's name or id, or of its owner's e-mail address; `after`
 * is the previous page's `next`.
 */
export const AgentsQuery = z.object({
  search: z.string().trim().toLowerCase().max(254).default(''),
  status: AgentStatus.optional(),
  limit,
  after: z.string().max(100).optional(),
})
export type AgentsQuery = z.infer<typeof AgentsQuery>

/**
 * Any user's agent. `owner` is null for an agent created with the internal key, `runtime` is null before the first
 * deployment.
 */
export const OverseenAgent = z.object({
  id: z.string(),
  name: z.string(),
  status: AgentStatus,
  model: z.string(),
  runtime: z.string().nullable(),
  lastError: z.string().nullable(),
  owner: z.object({ id: z.string(), email: z.string() }).nullable(),
  createdAt: z.string(),
})
export type OverseenAgent = z.infer<typeof OverseenAgent>

/** Newest first; `next` is null on the last page. `statuses` counts the agents that match the search. */
export const OverseenAgentList = z.object({
  agents: z.array(OverseenAgent),
  statuses: z.partialRecord(AgentStatus, z.number()),
  next: z.string().nullable(),
})
export type OverseenAgentList = z.infer<typeof OverseenAgentList>

/** `POST /api/admin/agents/:id/stop`. */
export const StoppedAgent = z.object({ agent: OverseenAgent })

export const JobState = z.enum(['queued', 'running', 'dead', 'done'])
export type JobState = z.infer<typeof JobState>

/** `GET /api/admin/jobs`: `after` is the previous page's `next`. */
export const JobsQuery = z.object({ state: JobState.default('dead'), limit, after: z.string().max(100).optional() })
export type JobsQuery = z.infer<typeof JobsQuery>

/** A background job without its payload, which is its owner's data. `runAt` is its due time. */
export const ShownJob = z.object({
  id: z.string(),
  kind: z.string(),
  state: JobState,
  attempts: z.number(),
  lastError: z.string().nullable(),
  canRetry: z.boolean(),
  createdAt: z.string(),
  runAt: z.string(),
  finishedAt: z.string().nullable(),
})
export type ShownJob = z.infer<typeof ShownJob>

/** Latest due first; `counts` covers all jobs of each state but `done`, which is not counted. */
export const JobList = z.object({
  jobs: z.array(ShownJob),
  counts: z.record(JobState.exclude(['done']), z.number()),
  next: z.string().nullable(),
})
export type JobList = z.infer<typeof JobList>

/** `POST /api/admin/jobs/:id/retry`. */
export const RetriedJob = z.object({ job: ShownJob })

/** `GET /api/admin/health`: sizes in bytes, null when they cannot be measured; `agents` and `jobs` count by state. */
export const PlatformHealth = HostHealth.extend({
  version: z.string(),
  startedAt: z.string(),
  /** Parts that do not work now. */
  failing: z.array(z.enum(['database', 'runtime', 'disk'])),
  processBytes: z.number(),
  databaseBytes: z.number().nullable(),
  freeDiskBytes: z.number().nullable(),
  minFreeDiskBytes: z.number(),
  agents: z.record(z.string(), z.number()),
  jobs: z.record(z.string(), z.number()),
  mail: z.enum(['smtp', 'log', 'none']),
})
export type PlatformHealth = z.infer<typeof PlatformHealth>

/** `POST /api/admin/mail/test`: `error` is the mail server's message. */
export const MailTest = z.object({ to: z.string(), delivered: z.boolean(), error: z.string().nullable() })
export type MailTest = z.infer<typeof MailTest>

/** `GET /api/admin/settings`: the values that `stead config print` shows. */
export const SettingsInEffect = z.object({
  settings: z.array(
    z.object({
      name: z.string(),
      group: z.string(),
      description: z.string(),
      value: z.string().nullable(),
      isSecret: z.boolean(),
      source: z.enum(['flag', 'environment', 'file', 'secret-file', 'default', 'none']),
    }),
  ),
})
export type SettingsInEffect = z.infer<typeof SettingsInEffect>

/**
 * `GET /api/admin/audit`: `names` maps ids on the page to e-mail addresses and agent names, as far as they still exist.
 */
export const NamedAuditList = AuditList.extend({ names: z.record(z.string(), z.string()) })
export type NamedAuditList = z.infer<typeof NamedAuditList>
