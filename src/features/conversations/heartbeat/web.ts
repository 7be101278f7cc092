import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { changeHeartbeat, findHeartbeat, type HeartbeatSettings, resetHeartbeat } from './heartbeat.ts'
import {
  ChangedHeartbeat,
  ChangeHeartbeatRequest,
  DeletedHeartbeat,
  type HeartbeatConfig,
  OneHeartbeat,
} from './schemas.ts'

/** Routes for the heartbeat settings. */
export function heartbeatWeb(deps: Base & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/heartbeat',
    endpoint({ summary: 'Returns the heartbeat settings', tag: 'Scheduled tasks', responses: { 200: OneHeartbeat } }),
    signedIn,
    (c) => {
      const settings = findHeartbeat(deps.db, c.var.user.id)
      return c.json({ heartbeat: toHeartbeat(settings), message: describe(settings) } satisfies OneHeartbeat)
    },
  )

  app.post(
    '/api/heartbeat',
    endpoint({
      summary: 'Changes the heartbeat settings',
      tag: 'Scheduled tasks',
      responses: { 200: ChangedHeartbeat },
      errors: ['unauthenticated', 'forbidden', 'not_found', 'limited'],
      scope: 'agents',
      worksOnFullDisk: true,
    }),
    signedIn,
    validate('json', ChangeHeartbeatRequest),
    async (c) => {
      const settings = await changeHeartbeat(deps, c.var.user, c.req.valid('json'))
      return c.json({ ...toHeartbeat(settings), message: describe(settings) } satisfies ChangedHeartbeat)
    },
  )

  app.delete(
    '/api/heartbeat',
    endpoint({
      summary: 'Resets the heartbeat settings',
      tag: 'Scheduled tasks',
      responses: { 200: DeletedHeartbeat },
      scope: 'agents',
    }),
    signedIn,
    async (c) => {
      await resetHeartbeat(deps.db, c.var.user.id)
      return c.json({ success: true, message: 'The heartbeat is reset to its defaults: off.' })
    },
  )

  return app
}

function toHeartbeat(settings: HeartbeatSettings): HeartbeatConfig {
  return {
    frequency: settings.frequency,
    enabled: settings.enabled,
    agentId: settings.agentId,
    lastUpdated: settings.updatedAt?.toISOString() ?? null,
    lastHeartbeat: settings.lastHeartbeatAt?.toISOString() ?? null,
    nextHeartbeat: settings.nextHeartbeatAt?.toISOString() ?? null,
  }
}

function describe({ updatedAt, nextHeartbeatAt, agentId }: HeartbeatSettings): string {
  const who = agentId === null ? 'Your running agents are' : `The agent ${agentId} is`
  if (nextHeartbeatAt) return `The settings are stored. ${who} asked next at ${nextHeartbeatAt.toISOString()}.`
  return updatedAt
    ? 'The settings are stored. The heartbeat is off: no agent is asked.'
    : 'These are the defaults. The heartbeat is off: no agent is asked.'
}
