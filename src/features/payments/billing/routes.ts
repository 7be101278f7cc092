import { Hono } from 'hono'
import type { Cards } from '../../../adapters/payments/cards.ts'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, SignedInUser, WebEnv } from '../../../http/env.ts'
import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { isPlanName, type PlanName } from '../../accounts/plans/plans.ts'
import type { SignUp } from '../../accounts/registration/register.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import type { OwnKeys } from '../../ai/own-keys/own-keys.ts'
import type { RunningSums } from '../../ai/usage/quota.ts'
import type { Base } from '../../base.ts'
import { changePlan, openPortal, setEnding, startCreditCheckout, startPlanCheckout } from '../cards/checkout.ts'
import { CREDIT_PACKS, requireCreditPack } from '../cards/prices.ts'
import { deploySubscription } from './deploy.ts'
import {
  Billing,
  BillingOutcome,
  BillingRequest,
  DeployedSubscription,
  DeploySubscriptionRequest,
  PlanList,
} from './schemas.ts'
import { listPlans, showBilling, toMonthUsage } from './show.ts'

type BillingWebDeps = Base & {
  cards: Cards
  appUrl: string
  ownKeys: OwnKeys
  userSums: RunningSums
  storage: Pick<StorageQuota, 'read'>
  guards: Guards
  signUp: SignUp
}

/** Plan, usage, cards and own provider keys of the signed-in user. */
export function billingWeb(deps: BillingWebDeps) {
  const app = new Hono<WebEnv>()
  const { withSession, signedIn } = deps.guards

  app.get(
    '/api/billing',
    endpoint({ summary: 'Returns plan, credits and available purchases', tag: 'Billing', responses: { 200: Billing } }),
    signedIn,
    (c) => c.json(showBilling(deps, c.var.user)),
  )

  app.get(
    '/api/plans',
    endpoint({ summary: 'Lists plans and prices', tag: 'Billing', responses: { 200: PlanList } }),
    (c) => c.json(listPlans(deps)),
  )

  app.post(
    '/api/billing',
    endpoint({
      summary: 'Buys, changes or cancels, by action',
      tag: 'Billing',
      responses: { 200: BillingOutcome },
      errors: [
        ...(['not_found', 'conflict', 'limited', 'upstream_failed', 'upstream_timeout', 'unavailable'] as const),
      ],
      worksOnFullDisk: true,
    }),
    withSession,
    validate('json', BillingRequest),
    async (c) => c.json(await runBillingAction(deps, c.var.user, c.req.valid('json'))),
  )

  return app
}

/** Changes take effect when the card service's event arrives. */
const ASKED = 'It takes effect as soon as the card service confirms it.'

async function runBillingAction(deps: BillingWebDeps, user: SignedInUser, request: BillingRequest) {
  switch (request.action) {
    case 'enable-byok': {
      const { provider } = request
      await deps.ownKeys.enable(user.id, provider, request.apiKey)
      return done(`BYOK enabled with ${provider}. You'll pay ${provider} directly for AI usage.`)
    }
    case 'disable-byok':
      await deps.ownKeys.disable(user.id)
      return done('BYOK disabled. Using platform credits.')
    case 'get-usage':
      return toMonthUsage(deps, user)
    case 'create-checkout':
      return { url: await startPlanCheckout(deps, user, requirePlan(request.plan)) }
    case 'buy-credits': {
      const pack = requireCreditPack(request.pack ?? request.amount)
      const { credits, priceUsd } = CREDIT_PACKS[pack]
      return { success: true, url: await startCreditCheckout(deps, user, pack), credits, price: `$${priceUsd}` }
    }
    case 'change-plan':
      await changePlan(deps, user.id, requirePlan(request.plan))
      return done(`Your plan changes. ${ASKED}`)
    case 'open-portal':
      return { url: await openPortal(deps, user.id) }
    case 'cancel':
      await setEnding(deps, user.id, request.subscriptionId, true)
      return done(`Your subscription ends with the period that is paid. ${ASKED}`)
    case 'restore':
      await setEnding(deps, user.id, request.subscriptionId, false)
      return done(`Your subscription goes on. ${ASKED}`)
  }
}

function done(message: string) {
  return { success: true, message }
}

function requirePlan(plan: string): PlanName {
  if (!isPlanName(plan)) throw new AppError('invalid', 'Invalid plan')
  return plan
}

/** Subscriptions that the operator activates. */
export function billingBackend(deps: Base & { internalKey: InternalKeyGuard }) {
  const app = new Hono<BackendEnv>()
  app.post(
    '/api/subscriptions/deploy',
    endpoint({
      summary: 'Activates a plan for the operator',
      tag: 'Billing',
      responses: { 200: DeployedSubscription },
      errors: ['not_found'],
    }),
    deps.internalKey,
    validate('json', DeploySubscriptionRequest),
    async (c) => c.json(await deploySubscription(deps, c.req.valid('json'))),
  )
  return app
}
