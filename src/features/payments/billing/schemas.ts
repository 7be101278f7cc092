import { z } from 'zod'
import { PaymentPage } from '../cards/schemas.ts'

const MISSING = 'API key and provider required'
const subscriptionId = z.string().max(255).optional()

/** `POST /api/billing`: one action with its fields. `pack` and `amount` mean the same. */
export const BillingRequest = z
  .discriminatedUnion(
    'action',
    [
      z.object({
        action: z.literal('enable-byok'),
        apiKey: z.string(MISSING).trim().min(1, MISSING).max(512, 'API key is too long'),
        provider: z.string(MISSING).min(1, MISSING).max(40, 'provider is too long'),
      }),
      z.object({ action: z.literal('disable-byok') }),
      z.object({ action: z.literal('get-usage') }),
      z.object({ action: z.literal('create-checkout'), plan: z.string('Invalid plan').max(40, 'Invalid plan') }),
      z.object({
        action: z.literal('buy-credits'),
        pack: z.coerce.string().max(40, 'Invalid pack').optional(),
        amount: z.coerce.string().max(40, 'Invalid pack').optional(),
      }),
      z.object({ action: z.literal('change-plan'), plan: z.string('Invalid plan').max(40, 'Invalid plan') }),
      z.object({ action: z.literal('open-portal') }),
      z.object({ action: z.literal('cancel'), subscriptionId }),
      z.object({ action: z.literal('restore'), subscriptionId }),
    ],
    'Invalid action',
  )
  .meta({
    examples: [
      { action: 'create-checkout', plan: 'solo' },
      { action: 'buy-credits', pack: '500' },
    ],
  })
export type BillingRequest = z.infer<typeof BillingRequest>

export const BillingDone = z.object({ success: z.literal(true), message: z.string() })
export type BillingDone = z.infer<typeof BillingDone>

const Subscription = z.object({
  id: z.string(),
  purpose: z.enum(['plan', 'storage']),
  plan: z.string().nullable(),
  state: z.enum(['active', 'past_due', 'ended']),
  isEnding: z.boolean(),
  paidUntil: z.string().nullable(),
  graceEndsAt: z.string().nullable(),
})
export type Subscription = z.infer<typeof Subscription>

const PlanOffer = z.object({
  name: z.string(),
  price: z.number(),
  agents: z.number(),
  features: z.array(z.string()),
})

/**
 * `GET /api/plans`: plans on sale, cheapest first, in pounds per month; empty without a card service. `signUp` says who
 * may register.
 */
export const PlanList = z.object({
  plans: z.array(PlanOffer),
  currency: z.literal('GBP'),
  signUp: z.enum(['open', 'invite', 'closed']),
})
export type PlanList = z.infer<typeof PlanList>

/** Tokens of this month (UTC); null when unlimited. */
const MonthUsage = z.object({
  monthlyTokens: z.number().nullable(),
  used: z.number(),
  remaining: z.number().nullable(),
  resetsAt: z.string(),
})

/** `GET /api/billing`: null when unlimited, except `agents` of a plan, which is -1 for existing clients. */
export const Billing = z.object({
  plans: z.record(z.string(), PlanOffer),
  packs: z.array(z.object({ pack: z.string(), credits: z.number(), price: z.string() })),
  storageUpgrade: z.object({ bytes: z.number(), price: z.string() }),
  currentPlan: z.string(),
  subscriptionStatus: z.string(),
  cardsConfigured: z.boolean(),
  hasCustomer: z.boolean(),
  subscriptions: z.array(Subscription),
  credits: z.number(),
  balanceUsd: z.string(),
  storage: z.object({ used: z.number(), limit: z.number() }).nullable(),
  byokEnabled: z.boolean(),
  byokProviders: z.array(z.string()),
  usage: MonthUsage,
})
export type Billing = z.infer<typeof Billing>

const TIERS = 'solo, collective, label, network, underground, starter, pro, scale, enterprise, white_glove'
/** `POST /api/subscriptions/deploy`; `stripeCustomerId` is another name of `customerId`. */
export const DeploySubscriptionRequest = z.object({
  tier: z
    .string('tier is required')
    .min(1, 'tier is required')
    .max(40, `Invalid tier. Valid tiers: ${TIERS}`)
    .optional(),
  customerId: z.string('customerId is required').max(255).optional(),
  stripeCustomerId: z.string('customerId is required').max(255).optional(),
  subscriptionId: z.string().max(255).optional(),
})
export type DeploySubscriptionRequest = z.infer<typeof DeploySubscriptionRequest>

/** `POST /api/billing`: the result of the action. */
export const BillingOutcome = z.union([
  MonthUsage,
  BillingDone,
  PaymentPage,
  PaymentPage.extend({ success: z.literal(true), credits: z.number(), price: z.string() }),
])

/** `POST /api/subscriptions/deploy`. */
export const DeployedSubscription = z.object({
  success: z.literal(true),
  customerId: z.string(),
  subscriptionId: z.string(),
  tier: z.string(),
  resources: z.object({ memory: z.string(), cpus: z.string() }),
})
export type DeployedSubscription = z.infer<typeof DeployedSubscription>
