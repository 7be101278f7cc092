import { and, desc, eq, inArray, isNotNull, lte, ne } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { addDays } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { enqueueMail } from '../../accounts/notifications/send-mail.ts'
import { PLANS } from '../../accounts/plans/plans.ts'
import { type UserRow, users } from '../../accounts/users/tables.ts'
import { setGrantedStorage } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'
import { replaceDuplicates } from './end.ts'
import { findPlanByPrice, STORAGE_UPGRADE } from './prices.ts'
import type { SubscriptionEvent } from './schemas.ts'
import { type CardSubscriptionRow, cardCustomers, cardSubscriptions } from './tables.ts'

const HOUR_MS = 3_600_000
/** Subscription states of the card service that count as paid, and the one in which it retries the charge. */
const PAID = ['active', 'trialing']
const PAST_DUE = 'past_due'
/** Nothing was paid yet. */
const NOT_BEGUN = ['incomplete', 'incomplete_expired']

/**
 * Applies an event to a subscription, then updates the user's plan and storage. Events arrive in any order: older ones
 * and those about an ended subscription are ignored.
 * @returns the outcome for the event log.
 */
export function applySubscription(
  tx: Tx,
  deps: Base & { cardGraceDays: number },
  event: SubscriptionEvent,
  { type, at }: { type: string; at: Date },
): string {
  const known = tx.select().from(cardSubscriptions).where(eq(cardSubscriptions.id, event.id)).get()
  const userId = known?.userId ?? event.metadata.userId
  const user = userId === undefined ? undefined : tx.select().from(users).where(eq(users.id, userId)).get()
  if (!user) return 'unknown user'
  const state = type.endsWith('.deleted') ? 'ended' : toState(event.status)
  if (state === null) return 'not begun'
  if (known && (known.state === 'ended' || isOlder(known, state, { type, at }))) return 'older than what is known'
  const terms = toTerms(event, known)
  if (terms === null) return 'not a price of ours'
  const grace = toGrace(deps, known, state, at)
  saveSubscription(tx, deps, event, { ...terms, ...grace, state, userId: user.id, lastEventAt: at })
  replaceDuplicates(tx, deps, user)
  if (isKept(tx, event.id)) saveCustomer(tx, user.id, event.customer, deps.clock.now())
  // A user with two plans was notified when the second one was paid.
  if (!known?.replacedBy) mailAboutChange(tx, deps, user, { before: known?.state, after: state })
  settleRights(tx, deps, user)
  return state
}

/** Event times are whole seconds: within one second, `created` comes first. The end always counts. */
function isOlder(
  { lastEventAt }: CardSubscriptionRow,
  state: CardSubscriptionRow['state'],
  { type, at }: { type: string; at: Date },
): boolean {
  if (state === 'ended') return false
  return at < lastEventAt || (at.getTime() === lastEventAt.getTime() && type.endsWith('.created'))
}

function toState(status: string): CardSubscriptionRow['state'] | null {
  if (PAID.includes(status)) return 'active'
  if (status === PAST_DUE) return 'past_due'
  return NOT_BEGUN.includes(status) ? null : 'ended'
}

/** Returns what was bought: the charged price decides. An unknown price keeps the known plan. */
function toTerms({ metadata, currency, minorUnits }: SubscriptionEvent, known: CardSubscriptionRow | undefined) {
  if (known?.purpose === 'storage' || metadata.purpose === 'storage') return { purpose: 'storage' as const, plan: null }
  const plan = findPlanByPrice(currency, minorUnits) ?? known?.plan ?? null
  return plan === null ? null : { purpose: 'plan' as const, plan }
}

function toGrace(
  { cardGraceDays }: { cardGraceDays: number },
  known: CardSubscriptionRow | undefined,
  state: CardSubscriptionRow['state'],
  at: Date,
) {
  if (state !== 'past_due') return { pastDueSince: null, graceEndsAt: null }
  // A later failed charge does not restart a grace period.
  if (known?.state === 'past_due') return { pastDueSince: known.pastDueSince, graceEndsAt: known.graceEndsAt }
  return { pastDueSince: at, graceEndsAt: addDays(at, cardGraceDays) }
}

type Applied = Pick<
  CardSubscriptionRow,
  'purpose' | 'plan' | 'pastDueSince' | 'graceEndsAt' | 'state' | 'userId' | 'lastEventAt'
>

function saveSubscription(tx: Tx, { clock }: { clock: Clock }, event: SubscriptionEvent, applied: Applied): void {
  const { userId, ...columns } = applied
  const row = {
    ...columns,
    isEnding: event.cancel_at_period_end === true || (event.cancel_at ?? null) !== null,
    paidUntil: event.paidUntil,
  }
  tx.insert(cardSubscriptions)
    .values({ ...row, id: event.id, userId, createdAt: clock.now() })
    .onConflictDoUpdate({ target: cardSubscriptions.id, set: row })
    .run()
}

/** The customer id must be that of the subscription that is kept. */
function isKept(tx: Tx, id: string): boolean {
  const row = tx.select().from(cardSubscriptions).where(eq(cardSubscriptions.id, id)).get()
  return row !== undefined && row.state !== 'ended' && row.replacedBy === null
}

export function saveCustomer(tx: Tx, userId: string, customerId: string, createdAt: Date): void {
  tx.insert(cardCustomers)
    .values({ userId, customerId, createdAt })
    .onConflictDoUpdate({ target: cardCustomers.userId, set: { customerId } })
    .run()
}

function mailAboutChange(
  tx: Tx,
  { enqueue }: { enqueue: Enqueue },
  user: UserRow,
  { before, after }: { before: CardSubscriptionRow['state'] | undefined; after: CardSubscriptionRow['state'] },
): void {
  const address = { userId: user.id, address: user.email }
  if (after === 'past_due' && before !== 'past_due') enqueueMail(tx, enqueue, { mail: 'payment-failed', ...address })
  if (after === 'active' && before === 'past_due') enqueueMail(tx, enqueue, { mail: 'payment-made-good', ...address })
  if (after === 'ended' && before !== undefined && before !== 'ended') {
    enqueueMail(tx, enqueue, { mail: 'subscription-ended', ...address })
  }
}

/**
 * Sets the user's plan and storage to what their cards pay for. A plan set by an administrator or on the command line
 * is kept when no subscription pays.
 */
function settleRights(tx: Tx, { clock }: { clock: Clock }, user: UserRow): void {
  const now = clock.now()
  const all = tx
    .select()
    .from(cardSubscriptions)
    .where(eq(cardSubscriptions.userId, user.id))
    .orderBy(desc(cardSubscriptions.createdAt))
    .all()
  const paying = all.filter((row) => isPaying(row, now))
  const storages = paying.filter(({ purpose }) => purpose === 'storage').length
  setGrantedStorage(tx, user.id, storages * STORAGE_UPGRADE.bytes)
  const due = findLargestPlan(paying) ?? findPlanUnpaid(user, all)
  if (due) setPlan(tx, user, due, now)
}

function findLargestPlan(paying: CardSubscriptionRow[]): PlanColumns | null {
  const best = paying
    .flatMap(({ id, plan }) => (plan === null ? [] : [{ id, plan, priceGbp: PLANS[plan].priceGbp }]))
    .sort((one, other) => other.priceGbp - one.priceGbp)[0]
  return best ? { plan: best.plan, subscriptionStatus: 'active', subscriptionId: best.id } : null
}

/** Returns the plan of a user whose subscriptions do not pay; null when the plan came from elsewhere. */
function findPlanUnpaid(user: UserRow, all: CardSubscriptionRow[]): PlanColumns | null {
  const last = all.find(({ id }) => id === user.subscriptionId)
  if (!last) return null
  if (last.state === 'past_due') return { plan: user.plan, subscriptionStatus: 'past_due' }
  return { plan: 'free', subscriptionStatus: 'canceled', subscriptionId: null }
}

/** Returns whether it is paid or within its grace period. */
function isPaying({ state, graceEndsAt }: CardSubscriptionRow, now: Date): boolean {
  return state === 'active' || (state === 'past_due' && graceEndsAt !== null && graceEndsAt > now)
}

type PlanColumns = Pick<UserRow, 'plan' | 'subscriptionStatus'> & Partial<Pick<UserRow, 'subscriptionId'>>

function setPlan(tx: Tx, before: UserRow, after: PlanColumns, now: Date): void {
  if (Object.entries(after).every(([name, value]) => before[name as keyof PlanColumns] === value)) return
  tx.update(users)
    .set({ ...after, updatedAt: now })
    .where(eq(users.id, before.id))
    .run()
  const detail = {
    plan: [before.plan, after.plan],
    subscriptionStatus: [before.subscriptionStatus, after.subscriptionStatus],
  }
  recordAudit(tx, { actor: 'cards', action: 'account.change', target: before.id, detail }, now)
}

/** Lists a user's subscriptions that have not ended, newest first. */
export function listSubscriptions(db: Db, userId: string): CardSubscriptionRow[] {
  return db
    .select()
    .from(cardSubscriptions)
    .where(and(eq(cardSubscriptions.userId, userId), ne(cardSubscriptions.state, 'ended')))
    .orderBy(desc(cardSubscriptions.createdAt), desc(cardSubscriptions.id))
    .all()
}

/** Takes plan and storage from users whose grace period ended, and mails them. */
export function cardGraceJob(deps: Base): RepeatingJob {
  return { name: 'cards.grace', everyMs: HOUR_MS, run: () => endGraces(deps) }
}

export async function endGraces(deps: Base): Promise<void> {
  const isOver = and(isNotNull(cardSubscriptions.graceEndsAt), lte(cardSubscriptions.graceEndsAt, deps.clock.now()))
  const over = deps.db.select({ id: cardSubscriptions.id }).from(cardSubscriptions).where(isOver).all()
  if (over.length === 0) return
  await write(deps.db, (tx) => {
    const ids = over.map(({ id }) => id)
    const rows = tx
      .select()
      .from(cardSubscriptions)
      .where(and(inArray(cardSubscriptions.id, ids), isOver))
      .all()
    for (const row of rows) endGrace(tx, deps, row)
  })
}

function endGrace(tx: Tx, deps: Base, { id, userId }: CardSubscriptionRow): void {
  // It stays past due, but its grace period is over.
  tx.update(cardSubscriptions).set({ graceEndsAt: null }).where(eq(cardSubscriptions.id, id)).run()
  const user = tx.select().from(users).where(eq(users.id, userId)).get()
  if (!user) return
  enqueueMail(tx, deps.enqueue, { mail: 'grace-ended', userId: user.id, address: user.email })
  settleRights(tx, deps, user)
}
