import { type Context, Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { MailRequest, ProviderRequest, ProviderTest, Services } from './schemas.ts'
import {
  forgetMail,
  forgetProvider,
  type ServicesDeps,
  setMail,
  setProvider,
  showServices,
  testProvider,
} from './services.ts'

/**
 * Serves the configuration of model providers and mail to administrators: tested first, encrypted, effective at once.
 */
export function servicesWeb(deps: ServicesDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards
  const by = (c: Context<WebEnv>) => ({ id: c.var.user.id, address: c.env.address })

  app.get(
    '/api/admin/services',
    endpoint({ summary: 'Lists services and who configured them', tag: 'Services', responses: { 200: Services } }),
    admin,
    async (c) => c.json(await showServices(deps)),
  )

  app.put(
    '/api/admin/services/providers/:id',
    endpoint({
      summary: 'Tests and saves a provider key',
      tag: 'Services',
      responses: { 200: Services },
      errors: ['not_found', 'conflict', 'limited', 'upstream_failed', 'upstream_timeout'],
    }),
    admin,
    validate('json', ProviderRequest),
    async (c) => {
      await setProvider(deps, by(c), c.req.param('id'), c.req.valid('json'))
      return c.json(await showServices(deps))
    },
  )

  app.post(
    '/api/admin/services/providers/:id/test',
    endpoint({
      summary: 'Tests a provider without saving it',
      tag: 'Services',
      responses: { 200: ProviderTest },
      errors: ['not_found', 'limited', 'upstream_failed', 'upstream_timeout'],
    }),
    admin,
    validateAnyBody(ProviderRequest),
    async (c) => c.json(await testProvider(deps, c.req.param('id'), c.req.valid('json'))),
  )

  app.delete(
    '/api/admin/services/providers/:id',
    endpoint({
      summary: 'Deletes a provider key',
      tag: 'Services',
      responses: { 200: Services },
      errors: ['not_found', 'conflict'],
    }),
    admin,
    async (c) => {
      await forgetProvider(deps, by(c), c.req.param('id'))
      return c.json(await showServices(deps))
    },
  )

  app.put(
    '/api/admin/services/mail',
    endpoint({
      summary: 'Tests and saves a mail server',
      tag: 'Services',
      responses: { 200: Services },
      errors: ['conflict'],
    }),
    admin,
    validate('json', MailRequest),
    async (c) => {
      await setMail(deps, by(c), c.req.valid('json'))
      return c.json(await showServices(deps))
    },
  )

  app.delete(
    '/api/admin/services/mail',
    endpoint({
      summary: 'Deletes the mail server',
      tag: 'Services',
      responses: { 200: Services },
      errors: ['conflict'],
    }),
    admin,
    async (c) => {
      await forgetMail(deps, by(c))
      return c.json(await showServices(deps))
    },
  )

  return app
}
