import { z } from 'zod'

/** `POST /api/payments/storage-upgrade`. */
export const PaymentsStorageUpgradeAnswer = z.object({ url: z.string() })

/** `POST /api/webhooks/stripe`. */
export const WebhooksStripeAnswer = z.object({ received: z.literal(true) })
