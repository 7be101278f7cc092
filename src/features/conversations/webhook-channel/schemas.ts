import { z } from 'zod'
import { webUrl } from '../../../core/text/web-url.ts'

const MAX_TEXT_CHARACTERS = 20_000
const BAD_CONVERSATION = 'conversation must be 1 to 100 letters, digits, and . _ : -'

/** What a program posts to an agent. `conversation` keeps talks apart; without one all is one. */
export const WebhookMessage = z.object({
  text: z
    .string('text required')
    .trim()
    .min(1, 'text required')
    .max(MAX_TEXT_CHARACTERS, `text must be at most ${MAX_TEXT_CHARACTERS} characters`),
  conversation: z
    .string(BAD_CONVERSATION)
    .regex(/^[\w.:-]{1,100}$/, BAD_CONVERSATION)
    .default('main'),
})
export type WebhookMessage = z.infer<typeof WebhookMessage>

/** The same for a delivery that comes again, with what became of it meanwhile. */
export const WebhookAccepted = z.object({ id: z.string(), status: z.enum(['queued', 'answered', 'failed']) })
export type WebhookAccepted = z.infer<typeof WebhookAccepted>

/** `PUT /api/agents/:id/webhook-channel`. `newSecret` makes another one; the one before is refused from then on. */
export const WebhookChannelRequest = z.object({
  url: webUrl('url must be an http or https address'),
  newSecret: z.boolean('newSecret must be true or false').optional(),
})
export type WebhookChannelRequest = z.infer<typeof WebhookChannelRequest>

const Delivery = z.object({
  id: z.string(),
  deliveryId: z.string(),
  conversation: z.string(),
  status: z.enum(['queued', 'answered', 'failed']),
  error: z.string().nullable(),
  answer: z.object({ status: z.enum(['queued', 'sent', 'failed']), error: z.string().nullable() }).nullable(),
  receivedAt: z.string(),
})

/**
 * How a program speaks to an agent. `inbound` is where it posts, `sendsTo` where answers go, without what may be secret in
 * it; `deliveries` are the newest twenty.
 */
export const WebhookChannel = z.object({
  isOn: z.boolean(),
  inbound: z.string(),
  sendsTo: z.string().nullable(),
  since: z.string().nullable(),
  lastReceivedAt: z.string().nullable(),
  lastSentAt: z.string().nullable(),
  lastError: z.object({ message: z.string(), at: z.string() }).nullable(),
  deliveries: z.array(Delivery),
})
export type WebhookChannel = z.infer<typeof WebhookChannel>
/** `secret` is shown once, when it is made. */
export const ChangedWebhookChannel = z.object({ channel: WebhookChannel, secret: z.string().nullable() })
export type ChangedWebhookChannel = z.infer<typeof ChangedWebhookChannel>
