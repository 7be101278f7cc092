import { and, desc, eq, isNull, ne } from 'drizzle-orm'
import { z } from 'zod'
import type { Cards } from '../../../adapters/payments/cards.ts'
import type { Tx } from '../../../db/open.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { enqueueMail } from '../../accounts/notifications/send-mail.ts'
import type { UserRow } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { priceOfPlan } from './prices.ts'
import { type CardSubscriptionRow, cardSubscriptions } from './tables.ts'

/** Job that ends a subscription at the card service. */
const END_JOB = 'cards.end'
/** Retries for several hours: a subscription that is not ended keeps charging the user. */
const ATTEMPTS = 40

/** Queues the end of all of a user's subscriptions in the transaction that deletes the account. */
export function enqueueEndOfSubscriptions(tx: Tx, enqueue: Enqueue, userId: string): void {
  const rows = tx
    .select({ id: cardSubscriptions.id })
    .from(cardSubscriptions)
    .where(and(eq(cardSubscriptions.userId, userId), ne(cardSubscriptions.state, 'ended')))
    .all()
  for (const { id } of rows) enqueue(tx, END_JOB, { subscriptionId: id }, { key: `${END_JOB}:${id}` })
}

export function endSubscriptionJob(deps: { cards: Cards }): JobKind {
  return defineJob({
    kind: END_JOB,
    payload: z.object({ subscriptionId: z.string() }),
    maxAttempts: ATTEMPTS,
    run: ({ subscriptionId }) => deps.cards.end(subscriptionId),
  })
}

const END_DUPLICATE_JOB = 'cards.end-duplicate'

/**
 * Ends duplicate plans: two open checkout pages can both be paid. Keeps the most expensive renewing plan, the newest of
 * equals, and queues the end of the others in the same transaction.
 */
export function replaceDuplicates(tx: Tx, deps: Base, user: UserRow): void {
  const [kept, ...others] = listRenewedPlans(tx, user.id).sort((one, other) => priceOf(other) - priceOf(one))
  if (!kept) return
  for (const { id, plan } of others) {
    tx.update(cardSubscriptions).set({ replacedBy: kept.id }).where(eq(cardSubscriptions.id, id)).run()
    deps.enqueue(tx, END_DUPLICATE_JOB, { subscriptionId: id, keptId: kept.id }, { key: `${END_DUPLICATE_JOB}:${id}` })
    const detail = { ended: id, endedPlan: plan, kept: kept.id, keptPlan: kept.plan }
    recordAudit(tx, { actor: 'cards', action: 'subscription.duplicate', target: user.id, detail }, deps.clock.now())
    enqueueMail(tx, deps.enqueue, { mail: 'duplicate-subscription', userId: user.id, address: user.email })
  }
}

/** Newest first. A plan that is already ending is left alone. */
function listRenewedPlans(tx: Tx, userId: string): CardSubscriptionRow[] {
  const isTheirs = and(eq(cardSubscriptions.userId, userId), eq(cardSubscriptions.purpose, 'plan'))
  const isRenewed = and(eq(cardSubscriptions.state, 'active'), eq(cardSubscriptions.isEnding, false))
  return tx
    .select()
    .from(cardSubscriptions)
    .where(and(isTheirs, isRenewed, isNull(cardSubscriptions.replacedBy)))
    .orderBy(desc(cardSubscriptions.createdAt), desc(cardSubscriptions.id))
    .all()
}

function priceOf({ plan }: CardSubscriptionRow): number {
  return plan === null ? 0 : priceOfPlan(plan)
}

export function endDuplicateJob({ cards }: { cards: Pick<Cards, 'endDuplicate'> }): JobKind {
  return defineJob({
    kind: END_DUPLICATE_JOB,
    payload: z.object({ subscriptionId: z.string(), keptId: z.string() }),
    maxAttempts: ATTEMPTS,
    run: ({ subscriptionId, keptId }) => cards.endDuplicate(subscriptionId, keptId),
  })
}
