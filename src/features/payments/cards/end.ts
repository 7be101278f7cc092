import { and, eq, ne } from 'drizzle-orm'
import { z } from 'zod'
import type { Cards } from '../../../adapters/payments/cards.ts'
import type { Tx } from '../../../db/open.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import { cardSubscriptions } from './tables.ts'

/** Ends a subscription at the card service; `endSubscriptionJob` does it. */
const END_JOB = 'cards.end'
/** Some hours: somebody would be charged for nothing. */
const ATTEMPTS = 40

/** Asks for the end of all that a user subscribed to, in the closure that deletes the account: nobody is charged for it. */
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
