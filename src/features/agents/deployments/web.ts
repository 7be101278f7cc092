import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import type { Log } from '../../../core/log.ts'
import type { ChangeFeed } from '../../../db/changes/feed.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/parameters.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type LiveStreams, liveStream } from '../../../http/streams/sse.ts'
import { deployments } from '../operations/tables.ts'
import { getAgent } from '../registry/agents.ts'
import type { AgentStatusEvent } from '../registry/schemas.ts'
import { toShownStatus } from '../registry/status.ts'
import { agents } from '../registry/tables.ts'

export type DeploymentsWebDeps = {
  db: Db
  log: Log
  guards: Guards
  changes: ChangeFeed
  liveStreams: LiveStreams
}

/** Streams an agent's deployment progress to its owner: a `status` event at once and at each change. */
export function deploymentsWeb(deps: DeploymentsWebDeps) {
  const app = new Hono<WebEnv>()
  const current = deps.db
    .select({
      status: agents.status,
      downAt: agents.downAt,
      lastError: agents.lastError,
      step: deployments.step,
      error: deployments.error,
      detail: deployments.detail,
    })
    .from(agents)
    .leftJoin(deployments, eq(deployments.agentId, agents.id))
    .where(eq(agents.id, parameter('id')))
    .prepare()

  app.get(
    '/api/agents/:id/events',
    endpoint({
      summary: 'Streams the status of an agent',
      tag: 'Deployments',
      responses: { 200: 'text/event-stream' },
      errors: ['not_found', 'limited'],
    }),
    deps.guards.signedIn,
    (c) => {
      const principal = { kind: 'user', user: c.var.user } as const
      const { id } = getAgent(deps.db, principal, c.req.param('id'))
      return liveStream(c, deps, principal, async ({ send, signal }) => {
        let sent = ''
        while (!signal.aborted) {
          const count = deps.changes.count()
          const row = current.get({ id })
          if (!row) return
          const { step, detail } = row
          const status = toShownStatus(row)
          const error = status === 'error' ? (row.lastError ?? row.error) : row.error
          const event: AgentStatusEvent = { status, step, error, detail }
          const text = JSON.stringify(event)
          if (text !== sent) await send('status', event)
          sent = text
          await deps.changes.changed(count, signal)
        }
      })
    },
  )

  return app
}
