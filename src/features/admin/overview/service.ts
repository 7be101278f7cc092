import { and, count, desc, eq, gt, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm'
import { addDays, toDay, toMonth } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { planInForce, usedPercentOfPlan } from '../../accounts/plans/plans.ts'
import { showConfig } from '../../agents/registry/config.ts'
import { shownStatus } from '../../agents/registry/status.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Catalogue } from '../../ai/catalogue/catalogue.ts'
import type { OwnKeys } from '../../ai/own-keys/own-keys.ts'
import { NO_COST, toShownCost } from '../../ai/usage/costs.ts'
import type { RunningSums } from '../../ai/usage/quota.ts'
import { usageDays, usageKeyMonths, usageLogs } from '../../ai/usage/tables.ts'
import type { Base } from '../../base.ts'
import { approvals } from '../../conversations/approvals/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { countByStatus, findAgentNames, listNewestCalls, listUsageDays } from '../../monitoring/metrics/queries.ts'
import { cardSubscriptions } from '../../payments/cards/tables.ts'
import { backupRuns } from '../backups/tables.ts'
import type { Attention, Overview } from './schemas.ts'

export type ShowOverviewDeps = Base & {
  ownKeys: Pick<OwnKeys, 'listProviders'>
  userSums: RunningSums
  catalogue: Pick<Catalogue, 'list'>
}

/** Two weeks: the current one and the one it is compared with. */
const COST_DAYS = 14
const NEWEST_LINES = 80
const CONVERSATIONS = 5
const EXCERPT_CHARACTERS = 160
/** Limits how many agents' secrets are decrypted to find a Telegram channel. */
const OPENED_AGENTS = 20

/** Returns the start page: items that need attention, cost, agents and latest conversations. */
export function showOverview(deps: ShowOverviewDeps, user: SignedInUser): Overview {
  const statuses = countByStatus(deps.db, user.id)
  return {
    attention: listAttention(deps, user),
    cost: listCost(deps, user.id),
    agents: statuses,
    conversations: listConversations(deps.db, user.id),
    steps: {
      model: hasModel(deps, user.id),
      agent: Object.keys(statuses).length > 0,
      hello: wasAnswered(deps.db, user.id),
      telegram: listensAtTelegram(deps, user.id),
      backup: user.isAdmin ? hasBackup(deps.db) : null,
    },
  }
}

function listCost({ db, clock }: Pick<ShowOverviewDeps, 'db' | 'clock'>, userId: string): Overview['cost'] {
  const days = Array.from({ length: COST_DAYS }, (_, index) => toDay(addDays(clock.now(), index + 1 - COST_DAYS)))
  const rows = listUsageDays(db, eq(usageDays.userId, userId), days[0] ?? '')
  const costs = new Map(rows.map(({ day, costMicroUsd, unpricedCalls }) => [day, { costMicroUsd, unpricedCalls }]))
  return days.map((day) => toShownCost({ ...NO_COST, ...costs.get(day), day }))
}

/** Returns the last message of each of the newest conversations. */
function listConversations(db: Db, userId: string): Overview['conversations'] {
  const { agentId, sender, content, createdAt, platform } = messages
  const excerpt = sql<string>`substr(${content}, 1, ${EXCERPT_CHARACTERS})`
  const lines = db
    .select({ agentId, sender, excerpt, createdAt, platform })
    .from(messages)
    .where(eq(messages.userId, userId))
    .orderBy(desc(messages.sequence))
    .limit(NEWEST_LINES)
    .all()
  const last = [...Map.groupBy(lines, (line) => line.agentId).values()]
    .flatMap(([line]) => line ?? [])
    .slice(0, CONVERSATIONS)
  const nameOf = findAgentNames(
    db,
    last.map((line) => line.agentId),
    eq(agents.ownerId, userId),
  )
  return last.flatMap((line) => {
    const name = nameOf.get(line.agentId)
    if (name === undefined) return []
    const { agentId: id, createdAt: at, ...shown } = line
    return { agentId: id, name, ...shown, at: at.toISOString() }
  })
}

/** The built-in `local` provider only echoes, so it does not count as a model. */
function hasModel({ catalogue, ownKeys }: ShowOverviewDeps, userId: string): boolean {
  return ownKeys.listProviders(userId).length > 0 || catalogue.list().some(({ provider }) => provider.id !== 'local')
}

function wasAnswered(db: Db, userId: string): boolean {
  const answered = and(eq(messages.userId, userId), eq(messages.sender, 'agent'))
  return db.select({ id: messages.id }).from(messages).where(answered).limit(1).get() !== undefined
}

function listensAtTelegram({ db, sealer }: ShowOverviewDeps, ownerId: string): boolean {
  const withSecrets = and(eq(agents.ownerId, ownerId), isNotNull(agents.secretConfig))
  const rows = db.select().from(agents).where(withSecrets).limit(OPENED_AGENTS).all()
  return rows.some((agent) => showConfig(sealer, agent).secrets.telegramToken)
}

function hasBackup(db: Db): boolean {
  return (
    db.select({ id: backupRuns.id }).from(backupRuns).where(isNotNull(backupRuns.file)).limit(1).get() !== undefined
  )
}

/** Agents beyond this number are only counted. */
const NAMED_AGENTS = 3
/** Usage above this share of a limit is reported. */
const NEAR_PERCENT = 80
const NEWEST_CALLS = 200

/** Lists items that need the user's action, most urgent first. */
function listAttention(
  deps: Base & { ownKeys: Pick<OwnKeys, 'listProviders'>; userSums: RunningSums },
  user: SignedInUser,
): Attention[] {
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

function countWaiting({ db, clock }: Base, ownerId: string): Attention[] {
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

/** The user's own provider keys whose latest call failed. */
function listFailingKeys(
  { db, ownKeys }: { db: Db; ownKeys: Pick<OwnKeys, 'listProviders'> },
  userId: string,
): Attention[] {
  const providers = ownKeys.listProviders(userId)
  if (providers.length === 0) return []
  const newest = listNewestCalls(db, eq(usageLogs.userId, userId), NEWEST_CALLS)
  return providers.flatMap((name): Attention[] => {
    const last = newest.find((call) => call.isOwnKey && call.provider === name)
    return last && !last.success ? [{ kind: 'own-key-failing', provider: name, reason: last.errorMessage }] : []
  })
}

function measurePlan({ db, userSums }: { db: Db; userSums: RunningSums }, user: SignedInUser): Attention[] {
  const percent = Math.floor(usedPercentOfPlan(planInForce(db, user), userSums.used(user.id)))
  return percent >= NEAR_PERCENT ? [{ kind: 'plan-used', percent }] : []
}

function listUsedKeys({ db, clock }: Base, userId: string): Attention[] {
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
