import { type Context, Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { receiveBytes } from '../../../http/bodies/body.ts'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'
import { type Delivery, requireAgentForm, requireSignature, takeDelivery, verifyDelivery } from './receive.ts'
import { ChangedWebhookChannel, WebhookAccepted, WebhookChannel, WebhookChannelRequest } from './schemas.ts'
import { changeWebhookChannel, closeWebhookChannel, showWebhookChannel } from './settings.ts'

const REQUESTS_PER_MINUTE = 120

type WebhookEnv = WebEnv & { Variables: { delivery: Delivery } }

/** Routes of the webhook channel: programs with the owner's secret send signed messages. */
export function webhookChannelWeb(
  deps: Base & { appUrl: string; storage: Pick<StorageQuota, 'within'>; guards: Guards },
) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const by = (c: Context<WebEnv>) => ({ user: c.var.user, address: c.env.address })

  const requireSigned = createMiddleware<WebhookEnv, '/api/webhooks/agents/:id'>(async (c, next) => {
    const header = (name: string) => c.req.header(name)
    requireSignature(header)
    requireAgentForm(c.req.param('id'))
    c.set('delivery', verifyDelivery(deps, c.req.param('id'), { header, body: await receiveBytes(c) }))
    await next()
  })

  app.get(
    '/api/agents/:id/webhook-channel',
    endpoint({
      summary: 'Returns the webhook of an agent',
      tag: 'Channels',
      responses: { 200: WebhookChannel },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => c.json(showWebhookChannel(deps, c.var.user, c.req.param('id'))),
  )

  app.put(
    '/api/agents/:id/webhook-channel',
    endpoint({
      summary: 'Changes the webhook of an agent',
      tag: 'Channels',
      responses: { 200: ChangedWebhookChannel },
      errors: ['not_found'],
    }),
    signedIn,
    validate('json', WebhookChannelRequest),
    async (c) => c.json(await changeWebhookChannel(deps, by(c), c.req.param('id'), c.req.valid('json'))),
  )

  app.delete(
    '/api/agents/:id/webhook-channel',
    endpoint({
      summary: 'Removes the webhook of an agent',
      tag: 'Channels',
      responses: { 200: Done },
      errors: ['not_found'],
    }),
    signedIn,
    async (c) => {
      await closeWebhookChannel(deps, by(c), c.req.param('id'))
      return c.json({ success: true })
    },
  )

  app.post(
    '/api/webhooks/agents/:id',
    endpoint({
      summary: 'Receives an event for an agent',
      tag: 'Channels',
      responses: { 200: WebhookAccepted, 202: WebhookAccepted },
      errors: ['invalid', 'unauthenticated', 'limited', 'storage_full'],
    }),
    limitRate(REQUESTS_PER_MINUTE, 'Too many requests, please slow down.'),
    requireSigned,
    // After the signature check, so that strangers cannot use up the limit of an agent's programs.
    limitRate(REQUESTS_PER_MINUTE, 'Too many requests, please slow down.', (c) => c.req.param('id') ?? ''),
    async (c) => {
      const { accepted, isNew } = await takeDelivery(deps, c.var.delivery)
      return c.json(accepted, isNew ? 202 : 200)
    },
  )

  return app
}
