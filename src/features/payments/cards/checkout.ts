import { eq } from 'drizzle-orm'
import type { Cards, Checkout } from '../../../adapters/payments/cards.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import type { PlanName } from '../../accounts/plans/plans.ts'
import { receipts } from '../receipts/tables.ts'
import { CREDIT_PACKS, type CreditPack, priceOfPack, priceOfPlan, STORAGE_UPGRADE } from './prices.ts'
import { listSubscriptions } from './subscriptions.ts'
import { type CardSubscriptionRow, cardCustomers, cardSubscriptions } from './tables.ts'

export type CheckoutDeps = { db: Db; clock: Clock; cards: Cards; appUrl: string }

/** For so long the same wish leads to the same page. */
const SAME_WISH_MS = 600_000

/**
 * Opens the page on which a plan is paid. Nothing changes until the card service says that it was.
 * @returns its address. @throws AppError `conflict` ALREADY_SUBSCRIBED for whoever pays for a plan already, and as `Cards`.
 */
export async function startPlanCheckout(deps: CheckoutDeps, user: SignedInUser, plan: PlanName): Promise<string> {
  if (findPlanSubscription(deps.db, user.id)) {
    const message = 'You have a plan that is paid by card: change it on the billing page'
    throw new AppError('conflict', message, { code: 'ALREADY_SUBSCRIBED' })
  }
  const product = { name: `Plan ${plan}`, currency: 'gbp', minorUnits: priceOfPlan(plan), isMonthly: true } as const
  const successPath = `/checkout/success?session_id={CHECKOUT_SESSION_ID}&plan=${plan}`
  return openCheckout(deps, user, { product, tags: { purpose: 'plan', plan }, successPath })
}

/** Opens the page on which a pack of credits is paid, as `startPlanCheckout` does. */
export async function startCreditCheckout(deps: CheckoutDeps, user: SignedInUser, pack: CreditPack): Promise<string> {
  const name = `${CREDIT_PACKS[pack].credits} credits`
  const product = { name, currency: 'usd', minorUnits: priceOfPack(pack).minorUnits, isMonthly: false } as const
  const successPath = '/billing?paid=1&session_id={CHECKOUT_SESSION_ID}'
  return openCheckout(deps, user, { product, tags: { purpose: 'credits', pack }, successPath })
}

/** Opens the page on which 50 GB more are paid, as `startPlanCheckout` does. */
export async function startStorageCheckout(deps: CheckoutDeps, user: SignedInUser): Promise<string> {
  const { minorUnits } = STORAGE_UPGRADE
  const product = { name: 'Storage, 50 GB', currency: 'gbp', minorUnits, isMonthly: true } as const
  const successPath = '/billing?paid=1&session_id={CHECKOUT_SESSION_ID}'
  return openCheckout(deps, user, { product, tags: { purpose: 'storage' }, successPath })
}

/** Opens the page on which the card is changed. @throws AppError `not_found` for whoever never paid by card. */
export async function openPortal(deps: CheckoutDeps, userId: string): Promise<string> {
  const customerId = findCustomer(deps.db, userId)
  if (customerId === null) throw new AppError('not_found', 'You have not paid by card yet')
  return deps.cards.createPortal(customerId, `${deps.appUrl}/billing`)
}

/** Ends a subscription with the period that is paid, or lets it go on. @throws AppError `not_found`. */
export async function setEnding(deps: CheckoutDeps, userId: string, id: string | undefined, isEnding: boolean) {
  const { id: subscriptionId } = getSubscription(deps.db, userId, id)
  await deps.cards.setEnding(subscriptionId, isEnding)
}

/** Changes a plan that is paid by card. @throws AppError `not_found` without one, `conflict` when it is the same. */
export async function changePlan(deps: CheckoutDeps, userId: string, plan: PlanName): Promise<void> {
  const subscription = findPlanSubscription(deps.db, userId)
  if (!subscription) throw new AppError('not_found', 'You have no plan that is paid by card')
  if (subscription.plan === plan) throw new AppError('conflict', 'You have this plan already')
  const attempt = toAttempt(deps, `change:${subscription.id}:${plan}:${subscription.lastEventAt.getTime()}`)
  await deps.cards.changePrice(subscription.id, { currency: 'gbp', minorUnits: priceOfPlan(plan) }, attempt)
}

/** By which name the card service knows a user; null when it does not. */
function findCustomer(db: Db, userId: string): string | null {
  const row = db.select().from(cardCustomers).where(eq(cardCustomers.userId, userId)).get()
  return row?.customerId ?? null
}

function findPlanSubscription(db: Db, userId: string): CardSubscriptionRow | undefined {
  return listSubscriptions(db, userId).find(isOwnPlan)
}

/** A plan that goes on: not one that is being ended because another was paid as well. */
function isOwnPlan({ purpose, replacedBy }: CardSubscriptionRow): boolean {
  return purpose === 'plan' && replacedBy === null
}

/** The one that is named, else that of the plan. */
function getSubscription(db: Db, userId: string, id: string | undefined): CardSubscriptionRow {
  const all = listSubscriptions(db, userId)
  const found = id === undefined ? all.find(isOwnPlan) : all.find((row) => row.id === id)
  if (!found) throw new AppError('not_found', 'Subscription not found')
  return found
}

function openCheckout(
  deps: CheckoutDeps,
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

/** Whoever has paid may wish for the same again. */
function countPaid(db: Db, userId: string): number {
  const ofReceipts = countRows(db, receipts, eq(receipts.userId, userId))
  return ofReceipts + countRows(db, cardSubscriptions, eq(cardSubscriptions.userId, userId))
}

function toAttempt({ clock }: Pick<CheckoutDeps, 'clock'>, wish: string): string {
  return `stead-${sha256(`${wish}:${Math.floor(clock.now().getTime() / SAME_WISH_MS)}`)}`
}
