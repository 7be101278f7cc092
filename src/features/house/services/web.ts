import { type Context, Hono } from 'hono'
import { answers } from '../../../http/answers.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { MailRequest, ProviderKeyRequest, Services } from './schemas.ts'
import { forgetMail, forgetProviderKey, type ServicesDeps, setMail, setProviderKey, showServices } from './services.ts'

export type ServicesWebDeps = ServicesDeps & { guards: Guards }

/** Keys of model providers and the way of mail, given by an administrator: sealed, tried before, in effect at once. */
export function servicesWeb(deps: ServicesWebDeps) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards
  const by = (c: Context<WebEnv>) => ({ id: c.var.user.id, address: c.env.address })

  app.get('/api/admin/services', answers({ 200: Services }), admin, (c) => c.json(showServices(deps)))

  app.put(
    '/api/admin/services/providers/:id',
    answers({ 200: Services }, 'not_found', 'conflict', 'limited', 'upstream_failed', 'upstream_timeout'),
    admin,
    validate('json', ProviderKeyRequest),
    async (c) => {
      await setProviderKey(deps, by(c), c.req.param('id'), c.req.valid('json').apiKey)
      return c.json(showServices(deps))
    },
  )

  app.delete(
    '/api/admin/services/providers/:id',
    answers({ 200: Services }, 'not_found', 'conflict'),
    admin,
    async (c) => {
      await forgetProviderKey(deps, by(c), c.req.param('id'))
      return c.json(showServices(deps))
    },
  )

  app.put(
    '/api/admin/services/mail',
    answers({ 200: Services }, 'conflict'),
    admin,
    validate('json', MailRequest),
    async (c) => {
      await setMail(deps, by(c), c.req.valid('json'))
      return c.json(showServices(deps))
    },
  )

  app.delete('/api/admin/services/mail', answers({ 200: Services }, 'conflict'), admin, async (c) => {
    await forgetMail(deps, by(c))
    return c.json(showServices(deps))
  })

  return app
}
