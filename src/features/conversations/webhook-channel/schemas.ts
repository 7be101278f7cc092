import { z } from 'zod'
import { webUrl } from '../../../core/text/names.ts'

const MAX_TEXT_CHARACTERS = 20_000
const BAD_CONVERSATION = 'conversation must be 1 to 100 letters, digits, and . _ : -'

/** A message posted to an agent. `conversation` separates conversations. */
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

/** A repeated delivery returns the same id with the current status. */
export const WebhookAccepted = z.object({ id: z.string(), status: z.enum(['queued', 'answered', 'failed']) })
export type WebhookAccepted = z.infer<typeof WebhookAccepted>

/**
 * Body of `PUT /api/agents/:id/webhook-channel`. `newSecret` replaces the secret; the former one is refused from then
 * on.
 */
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
 * The webhook channel of an agent. Programs post to `inbound`; answers go to `sendsTo`, shown as its origin because the
 * rest may be secret. `deliveries` are the newest twenty.
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
/** `secret` is shown once, when it is created. */
export const ChangedWebhookChannel = z.object({ channel: WebhookChannel, secret: z.string().nullable() })
export type ChangedWebhookChannel = z.infer<typeof ChangedWebhookChannel>
