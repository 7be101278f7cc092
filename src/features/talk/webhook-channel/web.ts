import { type Context, Hono } from 'hono'
import { answers, Done } from '../../../http/answers.ts'
import { receiveBytes } from '../../../http/bodies/body.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { type ReceiveWebhookDeps, receiveForAgent, requireSignature } from './receive.ts'
import { ChangedWebhookChannel, WebhookAccepted, WebhookChannel, WebhookChannelRequest } from './schemas.ts'
import { changeWebhookChannel, closeWebhookChannel, showWebhookChannel } from './settings.ts'

const REQUESTS_PER_MINUTE = 120

export type WebhookChannelDeps = ReceiveWebhookDeps & { guards: Guards }

/** How programs speak to an agent: its owner gives them a secret, and they sign what they say. */
export function webhookChannelWeb(deps: WebhookChannelDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const by = (c: Context<WebEnv>) => ({ user: c.var.user, address: c.env.address })
  const whoIsAsked = (c: Context) => `${c.env.address} ${c.req.param('id')}`

  app.get('/api/agents/:id/webhook-channel', answers({ 200: WebhookChannel }, 'not_found'), signedIn, (c) =>
    c.json(showWebhookChannel(deps, c.var.user, c.req.param('id'))),
  )

  app.put(
    '/api/agents/:id/webhook-channel',
    answers({ 200: ChangedWebhookChannel }, 'not_found'),
    signedIn,
    validate('json', WebhookChannelRequest),
    async (c) => c.json(await changeWebhookChannel(deps, by(c), c.req.param('id'), c.req.valid('json'))),
  )

  app.delete('/api/agents/:id/webhook-channel', answers({ 200: Done }, 'not_found'), signedIn, async (c) => {
    await closeWebhookChannel(deps, by(c), c.req.param('id'))
    return c.json({ success: true })
  })

  app.post(
    '/api/webhooks/agents/:id',
    answers({ 200: WebhookAccepted, 202: WebhookAccepted }, 'invalid', 'unauthenticated', 'limited', 'storage_full'),
    limitRate(REQUESTS_PER_MINUTE, 'Too many requests, please slow down.', whoIsAsked),
    async (c) => {
      const header = (name: string) => c.req.header(name)
      requireSignature(header)
      const signed = { header, body: await receiveBytes(c) }
      const { accepted, isNew } = await receiveForAgent(deps, c.req.param('id'), signed)
      return c.json(accepted, isNew ? 202 : 200)
    },
  )

  return app
}
