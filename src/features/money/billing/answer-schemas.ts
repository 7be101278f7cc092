import { z } from 'zod'

/** `POST /api/subscriptions/deploy`. */
export const BackendSubscriptionsDeployAnswer = z.object({
  customerId: z.string(),
  subscriptionId: z.string(),
  tier: z.string(),
  resources: z.object({ memory: z.string(), cpus: z.string() }),
  success: z.literal(true),
})

/** `POST /api/billing`. */
export const NewBillingAnswer = z.union([
  z.object({
    monthlyTokens: z.number().nullable(),
    used: z.number(),
    remaining: z.number().nullable(),
    resetsAt: z.string(),
  }),
  z.object({ success: z.boolean(), message: z.string() }),
  z.object({ url: z.string() }),
  z.object({
    success: z.boolean(),
    url: z.string(),
    credits: z.union([z.literal(500), z.literal(2000), z.literal(5000)]),
    price: z.string(),
  }),
])
