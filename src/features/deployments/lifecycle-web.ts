import { type Context, Hono } from 'hono'
import type { Backend, LifecycleAction, TokenAction } from '../../adapters/backend.ts'
import { NoBody } from '../../core/action.ts'
import type { Sealer } from '../../core/secrets.ts'
import type { Db } from '../../db/open.ts'
import type { WebEnv } from '../../http/env.ts'
import type { Guards } from '../../http/session.ts'
import { validateAnyBody } from '../../http/validate.ts'
import { openTokens } from '../agents/create.ts'
import { getAgent } from '../agents/list.ts'
import { toWebStatus } from '../agents/status.ts'
import { listDeployments } from './history.ts'
import { UpdateImageRequest } from './schemas.ts'

export type LifecycleWebDeps = {
  db: Db
  sealer: Sealer
  backend: Pick<Backend, 'changeLifecycle' | 'stats'>
  guards: Guards
}

/** What owners can do to their agents and ask about them, under the paths of the backend (rulings, 19). */
export function lifecycleWeb(deps: LifecycleWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  const getOwn = (c: Context<WebEnv>, id: string) => getAgent(deps.db, { kind: 'user', user: c.var.user }, id)
  const change = async (
    c: Context<WebEnv>,
    id: string,
    action: LifecycleAction | TokenAction,
    request: Record<string, unknown> = {},
  ) => {
    getOwn(c, id)
    const caller = { user: c.var.user, address: c.env.address }
    const answer = await deps.backend.changeLifecycle(id, action, caller, request)
    return c.json(answer.status ? { ...answer, status: toWebStatus(answer.status) } : answer)
  }

  app.post('/api/agents/:id/start', signedIn, validateAnyBody(NoBody), (c) => change(c, c.req.param('id'), 'start'))
  app.post('/api/agents/:id/stop', signedIn, validateAnyBody(NoBody), (c) => change(c, c.req.param('id'), 'stop'))
  app.post('/api/agents/:id/restart', signedIn, validateAnyBody(NoBody), (c) => change(c, c.req.param('id'), 'restart'))
  app.post('/api/agents/:id/update', signedIn, validateAnyBody(UpdateImageRequest), (c) =>
    change(c, c.req.param('id'), 'update', c.req.valid('json')),
  )
  app.post('/api/agents/:id/repair', signedIn, validateAnyBody(NoBody), (c) => change(c, c.req.param('id'), 'repair'))
  app.post('/api/agents/:id/reset-memory', signedIn, validateAnyBody(NoBody), (c) =>
    change(c, c.req.param('id'), 'reset-memory'),
  )

  app.get('/api/agents/:id/deployments', signedIn, (c) => {
    const deployments = listDeployments(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))
    return c.json({ deployments, count: deployments.length })
  })

  app.get('/api/agents/:id/stats', signedIn, async (c) => {
    const { id } = getOwn(c, c.req.param('id'))
    return c.json(await deps.backend.stats(id, { user: c.var.user, address: c.env.address }))
  })

  app.get('/api/agents/:id/token', signedIn, (c) =>
    c.json({ token: openTokens(deps.sealer, getOwn(c, c.req.param('id'))).gatewayToken }),
  )
  app.post('/api/agents/:id/token/rotate', signedIn, validateAnyBody(NoBody), (c) =>
    change(c, c.req.param('id'), 'token/rotate'),
  )
  app.post('/api/agents/:id/platform-token/rotate', signedIn, validateAnyBody(NoBody), (c) =>
    change(c, c.req.param('id'), 'platform-token/rotate'),
  )

  return app
}
