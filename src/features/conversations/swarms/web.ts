import { Hono } from 'hono'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { getRun, listSwarmRuns, showRun } from './runs.ts'
import {
  ChangeSwarmRequest,
  CreateSwarmRequest,
  PageQuery,
  RunRequest,
  Swarm,
  SwarmList,
  SwarmRun,
  SwarmRunList,
} from './schemas.ts'
import { cancelRun, startSwarmRun } from './start-run.ts'
import { changeSwarm, createSwarm, deleteSwarm, getSwarm, listSwarms, toSwarm } from './swarms.ts'

/** Routes for swarms and their runs. */
export function swarmsWeb(deps: Base & { guards: Guards; requestsPerMinute: { chat: number } }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/swarms',
    endpoint({ summary: 'Lists swarms', tag: 'Swarms', responses: { 200: SwarmList }, errors: ['internal'] }),
    signedIn,
    validate('query', PageQuery),
    (c) => c.json(listSwarms(deps.db, c.var.user.id, c.req.valid('query'))),
  )

  app.post(
    '/api/swarms',
    endpoint({
      summary: 'Creates a swarm of agents',
      tag: 'Swarms',
      responses: { 201: Swarm },
      errors: ['not_found', 'limited', 'internal'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', CreateSwarmRequest),
    async (c) => c.json(toSwarm(await createSwarm(deps, c.var.user.id, c.req.valid('json'))), 201),
  )

  app.get(
    '/api/swarms/:id',
    endpoint({ summary: 'Returns a swarm', tag: 'Swarms', responses: { 200: Swarm }, errors: ['not_found'] }),
    signedIn,
    (c) => c.json(toSwarm(getSwarm(deps.db, c.var.user.id, c.req.param('id')))),
  )

  app.patch(
    '/api/swarms/:id',
    endpoint({
      summary: 'Changes a swarm',
      tag: 'Swarms',
      responses: { 200: Swarm },
      errors: ['not_found'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', ChangeSwarmRequest),
    async (c) => c.json(toSwarm(await changeSwarm(deps, c.var.user.id, c.req.param('id'), c.req.valid('json')))),
  )

  app.delete(
    '/api/swarms/:id',
    endpoint({
      summary: 'Deletes a swarm',
      tag: 'Swarms',
      responses: { 200: Done },
      errors: ['not_found'],
      scope: 'agents',
    }),
    signedIn,
    async (c) => {
      await deleteSwarm(deps.db, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  app.post(
    '/api/swarms/:id/run',
    endpoint({
      summary: 'Runs a task on all agents of a swarm',
      tag: 'Swarms',
      responses: { 202: SwarmRun },
      errors: ['not_found', 'conflict'],
      scope: 'agents',
    }),
    limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.'),
    signedIn,
    validate('json', RunRequest),
    async (c) => {
      const run = await startSwarmRun(deps, c.var.user.id, c.req.param('id'), c.req.valid('json').task)
      return c.json(showRun(deps.db, run), 202)
    },
  )

  app.get(
    '/api/swarms/:id/runs',
    endpoint({
      summary: 'Lists the runs of a swarm',
      tag: 'Swarms',
      responses: { 200: SwarmRunList },
      errors: ['not_found'],
    }),
    signedIn,
    validate('query', PageQuery),
    (c) => c.json(listSwarmRuns(deps.db, c.var.user.id, c.req.param('id'), c.req.valid('query'))),
  )

  app.get(
    '/api/swarms/:id/runs/:runId',
    endpoint({
      summary: "Returns a run with its agents' answers",
      tag: 'Swarms',
      responses: { 200: SwarmRun },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => c.json(showRun(deps.db, getRun(deps.db, c.var.user.id, c.req.param('id'), c.req.param('runId')))),
  )

  app.post(
    '/api/swarms/:id/runs/:runId/cancel',
    endpoint({
      summary: 'Cancels a run',
      tag: 'Swarms',
      responses: { 200: SwarmRun },
      errors: ['not_found'],
      scope: 'agents',
      worksOnFullDisk: true,
    }),
    signedIn,
    validateAnyBody(NoBody),
    async (c) =>
      c.json(showRun(deps.db, await cancelRun(deps, c.var.user.id, c.req.param('id'), c.req.param('runId')))),
  )

  return app
}
