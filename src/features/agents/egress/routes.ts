import { type Context, Hono } from 'hono'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../registry/agents.ts'
import { findEgressGap } from '../registry/checks.ts'
import { listBlocks } from './blocks.ts'
import type { EgressEnforcement } from './enforce.ts'
import { allowDestination, changeEgress, type EgressSettings, readEgress } from './policy.ts'
import { AgentEgress, AllowRequest, BlockedList, EgressRequest } from './schemas.ts'

type EgressWebDeps = {
  db: Db
  clock: Clock
  log: Log
  egressSettings: EgressSettings
  egressEnforcement: Pick<EgressEnforcement, 'blocks'>
  runtimes: Pick<Runtimes, 'runtimeOf'>
  guards: Pick<Guards, 'signedIn'>
}

/** Egress policies of agents: own agents only. */
export function egressWeb(deps: EgressWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const toShown = (id: string, egress: Omit<AgentEgress, 'gap'>): AgentEgress => {
    const agent = getAgent(deps.db, { kind: 'operator' }, id)
    return { ...egress, gap: findEgressGap(agent, deps.runtimes) }
  }
  const ownerOf = (c: Context<WebEnv>) => ({ kind: 'user', user: c.var.user }) as const

  app.get(
    '/api/agents/:id/egress',
    endpoint({
      summary: 'Returns the egress policy of an agent',
      tag: 'Agents',
      responses: { 200: AgentEgress },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => {
      const agent = getAgent(deps.db, ownerOf(c), c.req.param('id'))
      return c.json(toShown(agent.id, readEgress(deps.db, deps.egressSettings, agent)))
    },
  )

  app.put(
    '/api/agents/:id/egress',
    endpoint({
      summary: 'Changes the egress policy of an agent',
      tag: 'Agents',
      responses: { 200: AgentEgress },
      errors: ['not_found'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', EgressRequest),
    async (c) => {
      const id = c.req.param('id')
      return c.json(toShown(id, await changeEgress(deps, ownerOf(c), id, c.req.valid('json'))))
    },
  )

  app.post(
    '/api/agents/:id/egress/allow',
    endpoint({
      summary: 'Adds a destination to the allow list of an agent',
      tag: 'Agents',
      responses: { 200: AgentEgress },
      errors: ['not_found', 'limited'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', AllowRequest),
    async (c) => {
      const { destination } = c.req.valid('json')
      await deps.egressEnforcement.blocks.flush()
      const id = c.req.param('id')
      return c.json(toShown(id, await allowDestination(deps, ownerOf(c), id, destination)))
    },
  )

  app.get(
    '/api/agents/:id/egress/blocked',
    endpoint({
      summary: 'Lists destinations that were refused to an agent',
      tag: 'Agents',
      responses: { 200: BlockedList },
      errors: ['not_found'],
    }),
    signedIn,
    async (c) => {
      await deps.egressEnforcement.blocks.flush()
      return c.json({ blocked: listBlocks(deps.db, ownerOf(c), c.req.param('id')) })
    },
  )

  return app
}
