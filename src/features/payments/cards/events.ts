import { eq, lt } from 'drizzle-orm'
import type { ZodType } from 'zod'
import type { CardEvent } from '../../../adapters/payments/cards.ts'
import type { Clock } from '../../../core/clock.ts'
import { addDays } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { creditReferral } from '../../accounts/referrals/referrals.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { creditsOf, platformAccount } from '../ledger/accounts.ts'
import { createGrantCredits } from '../ledger/credits.ts'
import { type LedgerMovement, post, readBalance } from '../ledger/post.ts'
import { type NewReceipt, noteRefund, writeReceipt } from '../receipts/receipts.ts'
import { receipts } from '../receipts/tables.ts'
import { CREDIT_PACKS, MICROS_PER_MINOR_UNIT, priceOfPack, requireCreditPack } from './prices.ts'
import { InvoiceEvent, RefundEvent, SessionEvent, SubscriptionEvent } from './schemas.ts'
import { applySubscription, saveCustomer } from './subscriptions.ts'
import { cardCustomers, cardEvents, cardSubscriptions } from './tables.ts'

const DAY_MS = 86_400_000
/** The card service repeats events for three days. */
const DAYS_KEPT = 30

/**
 * Processes an event of the card service once; its outcome is stored in the same transaction.
 * @returns the outcome, of this or of an earlier delivery. @throws AppError `invalid` for an unexpected payload.
 */
export function receiveCardEvent(deps: Base & { cardGraceDays: number }, event: CardEvent): Promise<string> {
  return write(deps.db, (tx) => {
    const earlier = tx.select().from(cardEvents).where(eq(cardEvents.id, event.id)).get()
    if (earlier) return earlier.outcome
    const outcome = applyCardEvent(tx, deps, event)
    tx.insert(cardEvents).values({ id: event.id, type: event.type, outcome, receivedAt: deps.clock.now() }).run()
    return outcome
  })
}

function applyCardEvent(tx: Tx, deps: Base & { cardGraceDays: number }, event: CardEvent): string {
  const { type, data, createdAt: at } = event
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return applyCheckout(tx, deps, parse(SessionEvent, data))
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted':
    case 'customer.subscription.paused':
    case 'customer.subscription.resumed':
      return applySubscription(tx, deps, parse(SubscriptionEvent, data), { type, at })
    case 'invoice.paid':
      return applyInvoice(tx, deps, parse(InvoiceEvent, data))
    case 'charge.refunded':
      return applyRefund(tx, deps, parse(RefundEvent, data))
    default:
      return 'of no interest'
  }
}

/** Grants paid credits. Subscriptions have events of their own. */
function applyCheckout(tx: Tx, deps: { clock: Clock }, session: SessionEvent): string {
  const { userId = '' } = session.metadata
  const user = tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()
  if (!user) return 'unknown user'
  // The subscription's own events set the customer, so a duplicate subscription cannot replace it.
  const isOther = session.mode === 'subscription' && isCustomer(tx, userId)
  if (session.customer && !isOther) saveCustomer(tx, userId, session.customer, deps.clock.now())
  if (session.mode !== 'payment' || session.metadata.purpose !== 'credits') return 'customer noted'
  if (session.payment_status !== 'paid') return 'not paid yet'
  const pack = requireCreditPack(session.metadata.pack)
  const { worthMicroUsd, priceMicroUsd, minorUnits } = priceOfPack(pack)
  // Other products on the same card account have other prices.
  if (session.currency !== 'usd' || session.amount_total !== minorUnits) return 'not a price of ours'
  const reference = session.payment_intent ?? session.id
  const what = `${CREDIT_PACKS[pack].credits} credits`
  postCardPayment(tx, deps, {
    receipt: { cause: `stripe:${reference}`, what, userId, reference, amountMicros: priceMicroUsd, currency: 'USD' },
    lines: [
      { account: platformAccount('grants', 'USD'), amount: priceMicroUsd - worthMicroUsd },
      { account: creditsOf(userId), amount: worthMicroUsd },
    ],
  })
  return 'credits given'
}

type CardPayment = {
  receipt: Pick<NewReceipt, 'cause' | 'what' | 'userId' | 'reference' | 'amountMicros' | 'currency'>
  lines: readonly LedgerMovement[]
}

/** Posts a card payment, credited as `lines` says, and writes its receipt. */
function postCardPayment(tx: Tx, deps: { clock: Clock }, { receipt, lines }: CardPayment): void {
  const { cause, what, amountMicros, currency } = receipt
  const paid = { account: platformAccount('cards', currency), amount: -amountMicros }
  post(tx, deps, { cause, memo: `${what}, paid by card`, lines: [paid, ...lines] })
  writeReceipt(tx, { ...receipt, method: 'card', createdAt: deps.clock.now() })
  if (receipt.userId) creditReferral(tx, { ...deps, grantCredits: createGrantCredits(deps) }, receipt.userId)
}

function isCustomer(tx: Tx, userId: string): boolean {
  return tx.select().from(cardCustomers).where(eq(cardCustomers.userId, userId)).get() !== undefined
}

/** Posts the income of a subscription. */
function applyInvoice(tx: Tx, deps: { clock: Clock }, invoice: InvoiceEvent): string {
  if (invoice.subscription === null || invoice.amount_paid === 0) return 'of no interest'
  if (invoice.currency !== 'gbp') return 'not a price of ours'
  const known = tx.select().from(cardSubscriptions).where(eq(cardSubscriptions.id, invoice.subscription)).get()
  // The invoice can arrive before the subscription's event.
  const userId = known?.userId ?? invoice.metadata.userId ?? ''
  if (!tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()) return 'unknown user'
  const amountMicros = invoice.amount_paid * MICROS_PER_MINOR_UNIT
  const isStorage = (known?.purpose ?? invoice.metadata.purpose) === 'storage'
  const what = isStorage ? 'Storage, one month' : `Plan ${known?.plan ?? invoice.metadata.plan ?? ''}, one month`
  const reference = invoice.number ?? invoice.id
  postCardPayment(tx, deps, {
    receipt: { cause: `stripe:${invoice.id}`, what, userId, reference, amountMicros, currency: 'GBP' },
    lines: [{ account: platformAccount('sales', 'GBP'), amount: amountMicros }],
  })
  return 'payment noted'
}

/** Takes back credits after a refund, at most the balance; the operator bears the rest. */
function applyRefund(tx: Tx, deps: { clock: Clock }, charge: RefundEvent): string {
  const paidBy = `stripe:${charge.payment_intent ?? charge.id}`
  const receipt = tx.select().from(receipts).where(eq(receipts.cause, paidBy)).get()
  if (!receipt || receipt.userId === null || receipt.currency !== 'USD') return 'of no interest'
  const refunded = Math.min(charge.amount_refunded * MICROS_PER_MINOR_UNIT, receipt.amountMicros)
  const more = refunded - receipt.refundedMicros
  if (more <= 0) return 'older than what is known'
  const account = creditsOf(receipt.userId)
  const taken = Math.min(more, readBalance(tx, account))
  post(tx, deps, {
    cause: `${paidBy}:refunded:${charge.amount_refunded}`,
    memo: 'Refunded to your card',
    lines: [
      { account: platformAccount('cards', 'USD'), amount: more },
      { account, amount: -taken },
      { account: platformAccount('grants', 'USD'), amount: taken - more },
    ],
  })
  noteRefund(tx, receipt.id, refunded, 'Refunded to the card')
  return 'refund noted'
}

function parse<T>(schema: ZodType<T>, data: unknown): T {
  const parsed = schema.safeParse(data)
  if (!parsed.success) throw new AppError('invalid', 'Invalid payload', {}, { cause: parsed.error })
  return parsed.data
}

/** Deletes events that are too old to be repeated. */
export function cardEventsJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return {
    name: 'cards.forget',
    everyMs: DAY_MS,
    async run(signal) {
      const isOld = lt(cardEvents.receivedAt, addDays(deps.clock.now(), -DAYS_KEPT))
      await deleteInBatches(deps.db, cardEvents, isOld, signal)
    },
  }
}
