import { Hono, type MiddlewareHandler } from 'hono'
import { validate } from '../../http/validate.ts'
import type { AgentEnv } from '../env.ts'
import { PairingDecision } from '../schemas.ts'
import type { Channels } from './channels.ts'

/** How the platform sees the channels of an agent and decides who may write to it. */
export function channelRoutes(channels: Channels, requireToken: MiddlewareHandler<AgentEnv>) {
  const app = new Hono<AgentEnv>()
  app.get('/channels', requireToken, (c) => c.json({ channels: channels.list() }))
  app.post('/channels/:name/pairings/:code', requireToken, validate('json', PairingDecision), async (c) => {
    const { name, code } = c.req.param()
    return c.json(await channels.decide(name, code, c.req.valid('json').approve))
  })
  app.delete('/channels/:name/people/:id', requireToken, async (c) => {
    const { name, id } = c.req.param()
    await channels.remove(name, id)
    return c.json({ ok: true })
  })
  return app
}
