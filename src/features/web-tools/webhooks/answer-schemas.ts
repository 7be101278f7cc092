import { z } from 'zod'

/** `POST /api/webhooks/video`. */
export const WebhooksVideoAnswer = z.object({ received: z.literal(true) })

/** `POST /api/webhooks/email`. */
export const WebhooksEmailAnswer = z.object({ action: z.string().optional(), received: z.literal(true) })
