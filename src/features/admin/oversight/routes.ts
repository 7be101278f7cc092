import { type Context, Hono } from 'hono'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { ShownSetting } from '../../../core/settings/show.ts'
import { endpoint, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import type { JobQueue } from '../../../jobs/queue.ts'
import { listAudit } from '../../accounts/audit/audit.ts'
import { AuditQuery } from '../../accounts/audit/schemas.ts'
import type { LifecycleDeps } from '../../agents/deployments/lifecycle.ts'
import type { DiskFloor } from '../../agents/storage/disk.ts'
import type { Base } from '../../base.ts'
import type { FindFailing } from '../../monitoring/health/readiness.ts'
import type { HostHealth } from '../../monitoring/health/schemas.ts'
import type { Administrator } from '../accounts/change-account.ts'
import { listAllAgents, stopAnyAgent } from './agents.ts'
import {
  AgentsQuery,
  JobList,
  JobsQuery,
  MailTest,
  NamedAuditList,
  OverseenAgentList,
  PlatformHealth,
  RetriedJob,
  SettingsInEffect,
  StoppedAgent,
} from './schemas.ts'
import { getPlatformHealth, listJobs, nameAudit, retryJob, testMail } from './service.ts'

/** Admin API: agents, jobs, health, settings and audit log of the whole platform. */
export function oversightWeb(
  deps: Base &
    LifecycleDeps & {
      mailer: Mailer
      diskFloor: DiskFloor
      findFailing: FindFailing
      probeHost: () => HostHealth
      measureDatabase: () => { bytes: number; logBytes: number } | null
      canRetry: JobQueue['canRetry']
      guards: Guards
      shownSettings: readonly ShownSetting[]
      requestsPerMinute: { password: number }
    },
) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards
  const worksOnFullDisk: RouteOptions = { worksOnFullDisk: true }

  app.get(
    '/api/admin/agents',
    endpoint({ summary: 'Lists or searches all agents', tag: 'Administration', responses: { 200: OverseenAgentList } }),
    admin,
    validate('query', AgentsQuery),
    async (c) => c.json(await listAllAgents(deps.db, c.req.valid('query'), c.req.raw.signal)),
  )

  app.post(
    '/api/admin/agents/:id/stop',
    endpoint({
      summary: "Stops any user's agent",
      tag: 'Administration',
      responses: { 200: StoppedAgent },
      errors: ['not_found', 'conflict', 'internal', 'unavailable'],
      ...worksOnFullDisk,
    }),
    admin,
    validateAnyBody(NoBody),
    async (c) => c.json({ agent: await stopAnyAgent(deps, callerOf(c), c.req.param('id')) }),
  )

  app.get(
    '/api/admin/jobs',
    endpoint({ summary: 'Lists background jobs by state', tag: 'Administration', responses: { 200: JobList } }),
    admin,
    validate('query', JobsQuery),
    (c) => c.json(listJobs(deps, c.req.valid('query'))),
  )

  app.post(
    '/api/admin/jobs/:id/retry',
    endpoint({
      summary: 'Retries a failed job',
      tag: 'Administration',
      responses: { 200: RetriedJob },
      errors: ['not_found', 'conflict'],
      ...worksOnFullDisk,
    }),
    admin,
    validateAnyBody(NoBody),
    async (c) => c.json({ job: await retryJob(deps, callerOf(c), c.req.param('id')) }),
  )

  app.get(
    '/api/admin/health',
    endpoint({
      summary: 'Returns the health of the platform',
      tag: 'Administration',
      responses: { 200: PlatformHealth },
    }),
    admin,
    async (c) => c.json(await getPlatformHealth(deps)),
  )

  app.post(
    '/api/admin/mail/test',
    endpoint({
      summary: 'Sends a test email to you',
      tag: 'Administration',
      responses: { 200: MailTest },
      errors: ['unavailable'],
      ...worksOnFullDisk,
    }),
    admin,
    limitRate(() => deps.requestsPerMinute.password, 'Too many requests'),
    validateAnyBody(NoBody),
    async (c) => {
      // A mail server may take longer than the listener keeps a silent connection.
      c.env.keepOpen?.(c.req.raw)
      return c.json(await testMail(deps.mailer, c.var.user.email, c.req.raw.signal))
    },
  )

  app.get(
    '/api/admin/settings',
    endpoint({
      summary: 'Lists effective settings without secrets',
      tag: 'Administration',
      responses: { 200: SettingsInEffect },
    }),
    admin,
    (c) => c.json({ settings: deps.shownSettings }),
  )

  app.get(
    '/api/admin/audit',
    endpoint({ summary: 'Lists audit log entries', tag: 'Administration', responses: { 200: NamedAuditList } }),
    admin,
    validate('query', AuditQuery),
    (c) => c.json(nameAudit(deps.db, listAudit(deps.db, c.req.valid('query')))),
  )

  return app
}

function callerOf(c: Context<WebEnv>): Administrator {
  return { id: c.var.user.id, address: c.env.address }
}
