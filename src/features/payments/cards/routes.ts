import { type Context, Hono } from 'hono'
import type { Cards } from '../../../adapters/payments/cards.ts'
import { AppError } from '../../../core/errors.ts'
import { receiveBytes } from '../../../http/bodies/body.ts'
import { endpoint, Received, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { findPlan, isPlanName } from '../../accounts/plans/plans.ts'
import type { Base } from '../../base.ts'
import { startCreditCheckout, startPlanCheckout, startStorageCheckout } from './checkout.ts'
import { receiveCardEvent } from './events.ts'
import { requireCreditPack } from './prices.ts'
import { PaymentPage } from './schemas.ts'

/** Checkout pages and the webhook of the card service. Prices come from the server, never from the caller. */
export function cardsWeb(deps: Base & { cards: Cards; appUrl: string; cardGraceDays: number; guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const leadsToPay: RouteOptions = { scope: 'payments' }

  app.get(
    '/api/payments/checkout',
    endpoint({
      summary: 'Redirects to the checkout of a plan',
      tag: 'Billing',
      responses: { 303: null },
      errors: ['invalid', 'conflict', 'upstream_failed', 'unavailable'],
      ...leadsToPay,
    }),
    signedIn,
    (c) =>
      lead(c, '/pricing', async () => {
        const plan = c.req.query('plan')
        if (!isPlanName(plan)) throw new AppError('invalid', 'Invalid plan', { code: 'INVALID_PLAN' })
        // Administrators already have the largest plan.
        if (c.var.user.isAdmin) return `/billing?plan=${plan}&admin=1`
        return startPlanCheckout(deps, c.var.user, plan)
      }),
  )

  app.get(
    '/api/payments/credits',
    endpoint({
      summary: 'Redirects to the checkout of credits',
      tag: 'Billing',
      responses: { 303: null },
      errors: ['invalid', 'unavailable'],
      ...leadsToPay,
    }),
    signedIn,
    (c) => lead(c, '/billing', () => startCreditCheckout(deps, c.var.user, requireCreditPack(c.req.query('price')))),
  )

  // Buying storage must work on a full disk.
  const onFullDisk: RouteOptions = { scope: 'payments', worksOnFullDisk: true }
  app.post(
    '/api/payments/storage-upgrade',
    endpoint({
      summary: 'Returns the checkout URL for more storage',
      tag: 'Billing',
      responses: { 200: PaymentPage },
      errors: ['payment_required', 'unavailable'],
      ...onFullDisk,
    }),
    signedIn,
    async (c) => {
      if (!findPlan(deps.db, c.var.user.plan))
        throw new AppError('payment_required', 'Choose a plan first', { code: 'PLAN_REQUIRED' })
      return c.json({ url: await startStorageCheckout(deps, c.var.user) })
    },
  )

  app.post(
    '/api/webhooks/stripe',
    endpoint({
      summary: 'Receives an event of the card service',
      tag: 'Billing',
      responses: { 200: Received },
      errors: ['invalid', 'payment_required', 'not_found', 'conflict', 'unavailable'],
      worksOnFullDisk: true,
    }),
    async (c) => {
      const event = await deps.cards.readEvent(await receiveBytes(c), c.req.header('stripe-signature'))
      const outcome = await receiveCardEvent(deps, event)
      deps.log.info({ event: event.id, type: event.type, outcome }, 'an event of the card service')
      return c.json({ received: true })
    },
  )

  return app
}

/** Error codes of the redirect that existing pages know. */
const PROBLEMS: Readonly<Record<string, string>> = {
  INVALID_PLAN: 'invalid_plan',
  NOT_CONFIGURED: 'stripe_not_configured',
  ALREADY_SUBSCRIBED: 'already_subscribed',
}

/**
 * Redirects a browser to the URL of `find`, or back to `from` with an error code.
 * @throws AppError as `find` for clients other than browsers.
 */
async function lead(c: Context<WebEnv>, from: string, find: () => Promise<string>): Promise<Response> {
  try {
    return c.redirect(await find(), 303)
  } catch (error) {
    if (!(error instanceof AppError) || !c.req.header('accept')?.includes('text/html')) throw error
    const code = String(error.extra.code ?? '')
    const problem = PROBLEMS[code] ?? (error.kind === 'invalid' ? 'invalid_price' : 'checkout_failed')
    return c.redirect(`${from}?error=${problem}`, 303)
  }
}
