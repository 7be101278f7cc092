import { z } from 'zod'

const MISSING = 'API key and provider required'

/** `POST /api/billing`: what is to be done, and what that takes. */
export const BillingRequest = z.discriminatedUnion(
  'action',
  [
    z.object({
      action: z.literal('enable-byok'),
      apiKey: z.string(MISSING).trim().min(1, MISSING).max(512, 'API key is too long'),
      provider: z.string(MISSING).min(1, MISSING).max(40, 'provider is too long'),
    }),
    z.object({ action: z.literal('disable-byok') }),
    z.object({ action: z.literal('get-usage') }),
    z.object({ action: z.literal('create-checkout') }),
    z.object({ action: z.literal('buy-credits') }),
  ],
  'Invalid action',
)
export type BillingRequest = z.infer<typeof BillingRequest>

/** What an action that worked says. */
export const BillingDone = z.object({ success: z.literal(true), message: z.string() })
export type BillingDone = z.infer<typeof BillingDone>

/** `GET /api/billing`: null without a limit. */
export const Billing = z.object({
  currentPlan: z.string(),
  subscriptionStatus: z.string(),
  byokEnabled: z.boolean(),
  byokProviders: z.array(z.string()),
  usage: z.object({
    monthlyTokens: z.number().nullable(),
    used: z.number(),
    remaining: z.number().nullable(),
    resetsAt: z.string(),
  }),
})
export type Billing = z.infer<typeof Billing>
