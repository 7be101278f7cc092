import { type Context, Hono } from 'hono'
import { toDay } from '../../../core/clock.ts'
import { nextLocalMidnight } from '../../../core/local-day.ts'
import { toUsd } from '../../../core/money.ts'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import { findOwnerTimeZone, getAgent } from '../../agents/registry/agents.ts'
import { toShownCost } from '../usage/costs.ts'
import { countUnpricedCalls, type RunningSums } from '../usage/quota.ts'
import { findPause, findPauseOf, type Paused, toPause } from './breakers.ts'
import { type ChangeDeps, changeCaps, type PausingUser, pause, resume } from './change.ts'
import { findCaps } from './day-limits.ts'
import { Breaker, ChangeCapsRequest, PauseAllRequest, PauseRequest, PauseState } from './schemas.ts'

type BreakersWebDeps = ChangeDeps & { agentSums: RunningSums; guards: Guards }

const ofAgents: RouteOptions = { scope: 'agents', worksOnFullDisk: true }

const breakerAnswers: Responses = { responses: { 200: Breaker }, errors: ['not_found'] }
const pauseAnswers: Responses = { responses: { 200: PauseState } }

/** Daily caps, and pauses of one agent, of all agents of an owner, or of all agents. */
export function breakersWeb(deps: BreakersWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn, admin } = deps.guards
  /** @throws AppError `not_found` for a missing agent and for someone else's. */
  const agentIdOf = (c: Context<WebEnv, '/:id'>) =>
    getAgent(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id')).id

  app.get(
    '/api/agents/:id/breaker',
    endpoint({ summary: "Returns an agent's caps and usage", tag: 'Limits', ...breakerAnswers }),
    signedIn,
    (c) => c.json(showBreaker(deps, agentIdOf(c))),
  )

  app.put(
    '/api/agents/:id/breaker',
    endpoint({ summary: 'Changes the daily caps of an agent', tag: 'Limits', ...breakerAnswers, ...ofAgents }),
    signedIn,
    validate('json', ChangeCapsRequest),
    async (c) => {
      const agentId = agentIdOf(c)
      await changeCaps(deps, callerOf(c), agentId, c.req.valid('json'))
      return c.json(showBreaker(deps, agentId))
    },
  )

  app.post(
    '/api/agents/:id/pause',
    endpoint({ summary: 'Pauses model access of an agent', tag: 'Limits', ...breakerAnswers, ...ofAgents }),
    signedIn,
    validateAnyBody(PauseRequest),
    async (c) => {
      const agentId = agentIdOf(c)
      await pause(deps, callerOf(c), { scope: 'agent', agentId }, c.req.valid('json').reason ?? '')
      return c.json(showBreaker(deps, agentId))
    },
  )

  app.post(
    '/api/agents/:id/resume',
    endpoint({ summary: 'Resumes model access of an agent', tag: 'Limits', ...breakerAnswers, ...ofAgents }),
    signedIn,
    validateAnyBody(NoBody),
    async (c) => {
      const agentId = agentIdOf(c)
      await resume(deps, callerOf(c), { scope: 'agent', agentId })
      return c.json(showBreaker(deps, agentId))
    },
  )

  app.get(
    '/api/pause',
    endpoint({ summary: 'Returns whether all your agents are paused', tag: 'Limits', ...pauseAnswers }),
    signedIn,
    (c) => c.json(showPause(deps, allOf(c))),
  )

  app.put(
    '/api/pause',
    endpoint({ summary: 'Pauses or resumes all your agents', tag: 'Limits', ...pauseAnswers, ...ofAgents }),
    signedIn,
    validate('json', PauseAllRequest),
    async (c) => {
      await setPause(deps, callerOf(c), allOf(c), c.req.valid('json'))
      return c.json(showPause(deps, allOf(c)))
    },
  )

  app.get(
    '/api/admin/pause',
    endpoint({ summary: 'Returns whether the platform is paused', tag: 'Limits', ...pauseAnswers }),
    admin,
    (c) => c.json(showPause(deps, { scope: 'platform' })),
  )

  app.put(
    '/api/admin/pause',
    endpoint({
      summary: 'Pauses or resumes the whole platform',
      tag: 'Limits',
      ...pauseAnswers,
      worksOnFullDisk: true,
    }),
    admin,
    validate('json', PauseAllRequest),
    async (c) => {
      await setPause(deps, callerOf(c), { scope: 'platform' }, c.req.valid('json'))
      return c.json(showPause(deps, { scope: 'platform' }))
    },
  )

  return app
}

function setPause(deps: ChangeDeps, caller: PausingUser, what: Paused, { paused, reason = '' }: PauseAllRequest) {
  return paused ? pause(deps, caller, what, reason) : resume(deps, caller, what)
}

function showPause({ db }: BreakersWebDeps, what: Paused): PauseState {
  const row = findPauseOf(db, what)
  return { pause: row ? toPause(row) : null }
}

function showBreaker({ db, clock, agentSums }: BreakersWebDeps, agentId: string): Breaker {
  const caps = findCaps(db, agentId)
  const pause = findPause(db, agentId)
  const { tokens } = agentSums.used(agentId)
  return {
    agentId,
    caps: {
      tokensPerDay: caps?.tokensPerDay ?? null,
      costUsdPerDay: caps?.costMicroUsdPerDay == null ? null : toUsd(caps.costMicroUsdPerDay),
    },
    usedToday: { tokens, ...readCostToday({ db, clock, agentSums }, agentId) },
    resetsAt: nextLocalMidnight(clock.now(), findOwnerTimeZone(db, agentId)).toISOString(),
    pause: pause ? toPause(pause) : null,
  }
}

/** Returns the cost that counts against the cap, with the number of calls without a known cost. */
function readCostToday({ db, clock, agentSums }: Pick<BreakersWebDeps, 'db' | 'clock' | 'agentSums'>, agentId: string) {
  const unpricedCalls = countUnpricedCalls(db, agentId, toDay(clock.now()))
  return toShownCost({ costMicroUsd: agentSums.used(agentId).costMicroUsd, unpricedCalls })
}

function allOf(c: Context<WebEnv>): Paused {
  return { scope: 'owner', ownerId: c.var.user.id }
}

function callerOf(c: Context<WebEnv>): PausingUser {
  return { id: c.var.user.id, address: c.env.address }
}
