import { Hono } from 'hono'
import { answers, Done } from '../../../http/answers.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import { changeSwarm, createSwarm, deleteSwarm } from './change.ts'
import { getSwarm, listSwarms, toSwarm } from './list.ts'
import { getRun, listRuns, showRun } from './runs.ts'
import {
  ChangeSwarmRequest,
  CreateSwarmRequest,
  PageQuery,
  Run,
  RunList,
  RunRequest,
  Swarm,
  SwarmList,
} from './schemas.ts'
import { cancelRun, type RunDeps, startRun } from './start-run.ts'

export type SwarmsWebDeps = RunDeps & { guards: Guards; requestsPerMinute: { chat: number } }

/** Agents that are given tasks together (Interface 4.15). */
export function swarmsWeb(deps: SwarmsWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get('/api/swarms', answers({ 200: SwarmList }, 'internal'), signedIn, validate('query', PageQuery), (c) =>
    c.json(listSwarms(deps.db, c.var.user.id, c.req.valid('query'))),
  )

  app.post(
    '/api/swarms',
    answers({ 201: Swarm }, 'not_found', 'limited', 'internal'),
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('json', CreateSwarmRequest),
    async (c) => c.json(toSwarm(await createSwarm(deps, c.var.user.id, c.req.valid('json'))), 201),
  )

  app.get('/api/swarms/:id', answers({ 200: Swarm }, 'not_found'), signedIn, (c) =>
    c.json(toSwarm(getSwarm(deps.db, c.var.user.id, c.req.param('id')))),
  )

  app.patch(
    '/api/swarms/:id',
    answers({ 200: Swarm }, 'not_found'),
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('json', ChangeSwarmRequest),
    async (c) => c.json(toSwarm(await changeSwarm(deps, c.var.user.id, c.req.param('id'), c.req.valid('json')))),
  )

  app.delete(
    '/api/swarms/:id',
    answers({ 200: Done }, 'not_found'),
    routeTraits({ scope: 'agents' }),
    signedIn,
    async (c) => {
      await deleteSwarm(deps.db, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  app.post(
    '/api/swarms/:id/run',
    answers({ 202: Run }, 'not_found', 'conflict'),
    routeTraits({ scope: 'agents' }),
    limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.'),
    signedIn,
    validate('json', RunRequest),
    async (c) => {
      const run = await startRun(deps, c.var.user.id, c.req.param('id'), c.req.valid('json').task)
      return c.json(showRun(deps.db, run), 202)
    },
  )

  app.get('/api/swarms/:id/runs', answers({ 200: RunList }, 'not_found'), signedIn, validate('query', PageQuery), (c) =>
    c.json(listRuns(deps.db, c.var.user.id, c.req.param('id'), c.req.valid('query'))),
  )

  app.get('/api/swarms/:id/runs/:runId', answers({ 200: Run }, 'not_found'), signedIn, (c) =>
    c.json(showRun(deps.db, getRun(deps.db, c.var.user.id, c.req.param('id'), c.req.param('runId')))),
  )

  app.post(
    '/api/swarms/:id/runs/:runId/cancel',
    answers({ 200: Run }, 'not_found'),
    routeTraits({ scope: 'agents', worksOnFullDisk: true }),
    signedIn,
    validateAnyBody(NoBody),
    async (c) =>
      c.json(showRun(deps.db, await cancelRun(deps, c.var.user.id, c.req.param('id'), c.req.param('runId')))),
  )

  return app
}
