import { eq } from 'drizzle-orm'
import type { Cards, Checkout } from '../../../adapters/payments/cards.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import type { PlanName } from '../../accounts/plans/plans.ts'
import type { Base } from '../../base.ts'
import { receipts } from '../receipts/tables.ts'
import { CREDIT_PACKS, type CreditPack, priceOfPack, priceOfPlan, STORAGE_UPGRADE } from './prices.ts'
import { listSubscriptions } from './subscriptions.ts'
import { type CardSubscriptionRow, cardCustomers, cardSubscriptions } from './tables.ts'

/** Repeated requests within this time open the same checkout page. */
const SAME_WISH_MS = 600_000

/**
 * Opens a checkout page for a plan. The plan changes when the card service's event arrives.
 * @returns the URL of the page.
 * @throws AppError `conflict` ALREADY_SUBSCRIBED when the user already pays for a plan, and as `Cards`.
 */
export async function startPlanCheckout(
  deps: Base & { cards: Cards; appUrl: string },
  user: SignedInUser,
  plan: PlanName,
): Promise<string> {
  if (findPlanSubscription(deps.db, user.id)) {
    const message = 'You have a plan that is paid by card: change it on the billing page'
    throw new AppError('conflict', message, { code: 'ALREADY_SUBSCRIBED' })
  }
  const product = { name: `Plan ${plan}`, currency: 'gbp', minorUnits: priceOfPlan(plan), isMonthly: true } as const
  const successPath = `/checkout/success?session_id={CHECKOUT_SESSION_ID}&plan=${plan}`
  return openCheckout(deps, user, { product, tags: { purpose: 'plan', plan }, successPath })
}

/** Opens a checkout page for a credit pack, as `startPlanCheckout` does. */
export async function startCreditCheckout(
  deps: Base & { cards: Cards; appUrl: string },
  user: SignedInUser,
  pack: CreditPack,
): Promise<string> {
  const name = `${CREDIT_PACKS[pack].credits} credits`
  const product = { name, currency: 'usd', minorUnits: priceOfPack(pack).minorUnits, isMonthly: false } as const
  const successPath = '/billing?paid=1&session_id={CHECKOUT_SESSION_ID}'
  return openCheckout(deps, user, { product, tags: { purpose: 'credits', pack }, successPath })
}

/** Opens a checkout page for 50 GB of storage, as `startPlanCheckout` does. */
export async function startStorageCheckout(
  deps: Base & { cards: Cards; appUrl: string },
  user: SignedInUser,
): Promise<string> {
  const { minorUnits } = STORAGE_UPGRADE
  const product = { name: 'Storage, 50 GB', currency: 'gbp', minorUnits, isMonthly: true } as const
  const successPath = '/billing?paid=1&session_id={CHECKOUT_SESSION_ID}'
  return openCheckout(deps, user, { product, tags: { purpose: 'storage' }, successPath })
}

/** Opens the page where the user changes the card. @throws AppError `not_found` when the user never paid by card. */
export async function openPortal(deps: { db: Db; cards: Cards; appUrl: string }, userId: string): Promise<string> {
  const customerId = findCustomer(deps.db, userId)
  if (customerId === null) throw new AppError('not_found', 'You have not paid by card yet')
  return deps.cards.createPortal(customerId, `${deps.appUrl}/billing`)
}

/** Cancels a subscription at the end of the paid period, or resumes it. @throws AppError `not_found`. */
export async function setEnding(
  deps: { db: Db; cards: Cards },
  userId: string,
  id: string | undefined,
  isEnding: boolean,
) {
  const { id: subscriptionId } = getSubscription(deps.db, userId, id)
  await deps.cards.setEnding(subscriptionId, isEnding)
}

/** Changes the plan of a card subscription. @throws AppError `not_found` without one, `conflict` for the same plan. */
export async function changePlan(deps: Base & { cards: Cards }, userId: string, plan: PlanName): Promise<void> {
  const subscription = findPlanSubscription(deps.db, userId)
  if (!subscription) throw new AppError('not_found', 'You have no plan that is paid by card')
  if (subscription.plan === plan) throw new AppError('conflict', 'You have this plan already')
  const attempt = toAttempt(deps, `change:${subscription.id}:${plan}:${subscription.lastEventAt.getTime()}`)
  await deps.cards.changePrice(subscription.id, { currency: 'gbp', minorUnits: priceOfPlan(plan) }, attempt)
}

/** Returns the user's customer id at the card service; null without one. */
function findCustomer(db: Db, userId: string): string | null {
  const row = db.select().from(cardCustomers).where(eq(cardCustomers.userId, userId)).get()
  return row?.customerId ?? null
}

function findPlanSubscription(db: Db, userId: string): CardSubscriptionRow | undefined {
  return listSubscriptions(db, userId).find(isOwnPlan)
}

/** Excludes a plan that is being ended as a duplicate. */
function isOwnPlan({ purpose, replacedBy }: CardSubscriptionRow): boolean {
  return purpose === 'plan' && replacedBy === null
}

/** Returns the named subscription, or by default the plan's. */
function getSubscription(db: Db, userId: string, id: string | undefined): CardSubscriptionRow {
  const all = listSubscriptions(db, userId)
  const found = id === undefined ? all.find(isOwnPlan) : all.find((row) => row.id === id)
  if (!found) throw new AppError('not_found', 'Subscription not found')
  return found
}

function openCheckout(
  deps: Base & { cards: Cards; appUrl: string },
  user: SignedInUser,
  wish: Pick<Checkout, 'product' | 'tags'> & { successPath: string },
): Promise<string> {
  const { product, tags, successPath } = wish
  return deps.cards.createCheckout({
    user: { id: user.id, email: user.email, customerId: findCustomer(deps.db, user.id) },
    product,
    tags,
    attempt: toAttempt(deps, JSON.stringify([user.id, user.email, tags, countPaid(deps.db, user.id)])),
    successUrl: `${deps.appUrl}${successPath}`,
    cancelUrl: `${deps.appUrl}/billing?payment_cancelled=1`,
  })
}

/** A later purchase of the same product needs a new idempotency key. */
function countPaid(db: Db, userId: string): number {
  const ofReceipts = countRows(db, receipts, eq(receipts.userId, userId))
  return ofReceipts + countRows(db, cardSubscriptions, eq(cardSubscriptions.userId, userId))
}

function toAttempt({ clock }: { clock: Clock }, wish: string): string {
  return `stead-${sha256(`${wish}:${Math.floor(clock.now().getTime() / SAME_WISH_MS)}`)}`
}
