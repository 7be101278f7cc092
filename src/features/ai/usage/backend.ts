import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import { validate } from '../../../http/validate.ts'
import {
  listDailyUsage,
  listToolUsage,
  listUsageByModel,
  listUsageOfAgent,
  type QueryDeps,
  summarizeUsage,
} from './queries.ts'
import type { UsageRecorder } from './recorder.ts'
import { DailyUsage, MonthQuery, ToolQuery, ToolUsage, UsageByModel, UsageOfAgent, WeekQuery } from './schemas.ts'

/** Usage for services with the internal key; `x-user-id` limits it to one user. */
export function usageBackend(
  deps: QueryDeps & {
    internalKey: InternalKeyGuard
    usage: Pick<UsageRecorder, 'flush'>
    plannedEndpoints: boolean
  },
) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps
  if (!deps.plannedEndpoints) return app

  app.use('/api/usage/*', async (_c, next) => {
    await deps.usage.flush()
    await next()
  })

  app.get(
    '/api/usage/summary',
    endpoint({
      summary: 'Summarizes usage by day, agent and model',
      tag: 'Usage',
      responses: { 200: 'application/json' },
    }),
    internalKey,
    validate('query', MonthQuery),
    async (c) => {
      const lines = await summarizeUsage(deps, c.var.principal, c.req.valid('query').days)
      return c.body(`[${lines.join(',')}]`, 200, { 'content-type': 'application/json' })
    },
  )

  app.get(
    '/api/usage/by-agent/:agentId',
    endpoint({ summary: 'Summarizes the usage of an agent', tag: 'Usage', responses: { 200: UsageOfAgent } }),
    internalKey,
    validate('query', MonthQuery),
    async (c) =>
      c.json(await listUsageOfAgent(deps, c.var.principal, c.req.param('agentId'), c.req.valid('query').days)),
  )

  app.get(
    '/api/usage/by-model',
    endpoint({ summary: 'Summarizes usage by model', tag: 'Usage', responses: { 200: UsageByModel } }),
    internalKey,
    validate('query', MonthQuery),
    async (c) => c.json(await listUsageByModel(deps, c.var.principal, c.req.valid('query').days)),
  )

  app.get(
    '/api/usage/daily',
    endpoint({ summary: 'Summarizes usage by day', tag: 'Usage', responses: { 200: DailyUsage } }),
    internalKey,
    validate('query', WeekQuery),
    async (c) => c.json(await listDailyUsage(deps, c.var.principal, c.req.valid('query').days)),
  )

  app.get(
    '/api/usage/tools',
    endpoint({ summary: 'Summarizes tool usage', tag: 'Usage', responses: { 200: ToolUsage } }),
    internalKey,
    validate('query', ToolQuery),
    async (c) => {
      const { agentId, days } = c.req.valid('query')
      return c.json(await listToolUsage(deps, c.var.principal, agentId, days))
    },
  )

  return app
}
