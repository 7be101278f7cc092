import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import type { Log } from '../../core/log.ts'
import type { Db } from '../../db/open.ts'
import { parameter } from '../../db/parameters.ts'
import type { WebEnv } from '../../http/env.ts'
import type { Guards } from '../../http/session.ts'
import { eventStream } from '../../http/sse.ts'
import { pause } from '../../jobs/runner.ts'
import { getAgent } from '../agents/list.ts'
import type { AgentEvent } from '../agents/schemas.ts'
import { agents } from '../agents/tables.ts'
import { deployments } from './tables.ts'

const POLL_MS = 100

/** Live progress of an agent for its owner: a `status` event at once and at each change, until the client leaves or the server stops. */
export function deploymentsWeb(deps: { db: Db; log: Log; guards: Guards }) {
  const app = new Hono<WebEnv>()
  const current = deps.db
    .select({ status: agents.status, step: deployments.step, error: deployments.error })
    .from(agents)
    .leftJoin(deployments, eq(deployments.agentId, agents.id))
    .where(eq(agents.id, parameter('id')))
    .prepare()

  app.get('/api/agents/:id/events', deps.guards.signedIn, (c) => {
    const { id } = getAgent(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))
    return eventStream(c, deps.log, async ({ send, signal }) => {
      let sent = ''
      while (!signal.aborted && !c.env.stopping?.aborted) {
        const event: AgentEvent | undefined = current.get({ id })
        if (!event) return
        const text = JSON.stringify(event)
        if (text !== sent) await send('status', event)
        sent = text
        await pause(POLL_MS, signal)
      }
    })
  })

  return app
}
