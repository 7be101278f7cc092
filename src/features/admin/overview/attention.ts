import { and, count, desc, eq, gt, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm'
import { type Clock, toMonth } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { planInForce, usedPercentOfPlan } from '../../accounts/plans/plans.ts'
import { shownStatus } from '../../agents/registry/status.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { OwnKeys } from '../../ai/own-keys/own-keys.ts'
import type { RunningSums } from '../../ai/usage/running-sums.ts'
import { usageKeyMonths, usageLogs } from '../../ai/usage/tables.ts'
import { approvals } from '../../conversations/approvals/tables.ts'
import { cardSubscriptions } from '../../payments/cards/tables.ts'
import type { Attention } from './schemas.ts'

export type AttentionDeps = { db: Db; clock: Clock; ownKeys: Pick<OwnKeys, 'listProviders'>; userSums: RunningSums }

/** So many agents are named, the others are counted. */
const NAMED_AGENTS = 3
/** From this share of a limit on it is told. */
const NEAR_PERCENT = 80
/** A key is judged by the newest calls. */
const NEWEST_CALLS = 200

/** Everything that wants this user, most pressing first; nothing in a quiet hour. */
export function listAttention(deps: AttentionDeps, user: SignedInUser): Attention[] {
  return [
    ...listDown(deps.db, user.id),
    ...countWaiting(deps, user.id),
    ...findPaymentDue(deps.db, user.id),
    ...listFailingKeys(deps, user.id),
    ...measurePlan(deps, user),
    ...listUsedKeys(deps, user.id),
  ]
}

function listDown(db: Db, ownerId: string): Attention[] {
  const isDown = and(eq(agents.ownerId, ownerId), eq(shownStatus, 'error'))
  const rows = db
    .select({ agentId: agents.id, name: agents.name, reason: agents.lastError })
    .from(agents)
    .where(isDown)
    .orderBy(desc(agents.updatedAt))
    .limit(NAMED_AGENTS)
    .all()
  const named = rows.map((row): Attention => ({ kind: 'agent-down', ...row }))
  const more = rows.length < NAMED_AGENTS ? 0 : countOf(db, isDown) - rows.length
  return more > 0 ? [...named, { kind: 'more-agents-down', more }] : named
}

function countOf(db: Db, where: SQL | undefined): number {
  return db.select({ agents: count() }).from(agents).where(where).get()?.agents ?? 0
}

function countWaiting({ db, clock }: AttentionDeps, ownerId: string): Attention[] {
  const isWaiting = and(eq(approvals.status, 'waiting'), gt(approvals.expiresAt, clock.now()))
  const row = db
    .select({ waiting: count() })
    .from(approvals)
    .innerJoin(agents, eq(agents.id, approvals.agentId))
    .where(and(isWaiting, eq(agents.ownerId, ownerId)))
    .get()
  return row && row.waiting > 0 ? [{ kind: 'approvals', waiting: row.waiting }] : []
}

function findPaymentDue(db: Db, userId: string): Attention[] {
  const isDue = and(eq(cardSubscriptions.userId, userId), eq(cardSubscriptions.state, 'past_due'))
  const due = db.select({ graceEndsAt: cardSubscriptions.graceEndsAt }).from(cardSubscriptions).where(isDue).get()
  return due ? [{ kind: 'payment-due', graceEndsAt: due.graceEndsAt?.toISOString() ?? null }] : []
}

/** Keys that the user has brought along and whose newest call failed. */
function listFailingKeys({ db, ownKeys }: AttentionDeps, userId: string): Attention[] {
  const providers = ownKeys.listProviders(userId)
  if (providers.length === 0) return []
  const { provider, isOwnKey, success, errorMessage } = usageLogs
  const newest = db
    .select({ provider, isOwnKey, success, errorMessage })
    .from(usageLogs)
    .where(eq(usageLogs.userId, userId))
    .orderBy(desc(usageLogs.createdAt))
    .limit(NEWEST_CALLS)
    .all()
  return providers.flatMap((name): Attention[] => {
    const last = newest.find((call) => call.isOwnKey && call.provider === name)
    return last && !last.success ? [{ kind: 'own-key-failing', provider: name, reason: last.errorMessage }] : []
  })
}

function measurePlan({ db, userSums }: AttentionDeps, user: SignedInUser): Attention[] {
  const percent = Math.floor(usedPercentOfPlan(planInForce(db, user), userSums.used(user.id)))
  return percent >= NEAR_PERCENT ? [{ kind: 'plan-used', percent }] : []
}

function listUsedKeys({ db, clock }: AttentionDeps, userId: string): Attention[] {
  const share = sql<number>`max(
    coalesce(${usageKeyMonths.tokens} * 100.0 / ${apiKeys.tokensPerMonth}, 0),
    coalesce(${usageKeyMonths.costMicroUsd} * 100.0 / ${apiKeys.budgetMicroUsd}, 0))`
  const isOfMonth = and(eq(usageKeyMonths.keyId, apiKeys.id), eq(usageKeyMonths.month, toMonth(clock.now())))
  const hasLimit = or(isNotNull(apiKeys.tokensPerMonth), isNotNull(apiKeys.budgetMicroUsd))
  return db
    .select({ keyId: apiKeys.id, name: apiKeys.name, share })
    .from(apiKeys)
    .innerJoin(usageKeyMonths, isOfMonth)
    .where(and(eq(apiKeys.userId, userId), isNull(apiKeys.disabledAt), hasLimit))
    .all()
    .filter((key) => key.share >= NEAR_PERCENT)
    .map((key) => ({ kind: 'key-used', keyId: key.keyId, name: key.name, percent: Math.floor(key.share) }))
}
