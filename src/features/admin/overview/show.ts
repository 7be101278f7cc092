import { and, desc, eq, gte, inArray, isNotNull, sql } from 'drizzle-orm'
import { addDays, toDay } from '../../../core/clock.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { showConfig } from '../../agents/registry/config.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Catalogue } from '../../ai/gateway/catalogue/catalogue.ts'
import { NO_COST, toShownCost } from '../../ai/usage/costs.ts'
import { usageDays } from '../../ai/usage/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { countStatuses } from '../../monitoring/fleet/list.ts'
import { backupRuns } from '../backups/tables.ts'
import { type AttentionDeps, listAttention } from './attention.ts'
import type { Overview } from './schemas.ts'

export type OverviewDeps = AttentionDeps & { sealer: Sealer; catalogue: Pick<Catalogue, 'list'> }

/** Two weeks: this one and the one to compare it with. */
const COST_DAYS = 14
/** Conversations are looked for among the newest lines. */
const NEWEST_LINES = 80
const CONVERSATIONS = 5
const EXCERPT_CHARACTERS = 160
/** Settings of so many agents are opened to see whether one listens at Telegram. */
const OPENED_AGENTS = 20

/** The first page of somebody who is signed in: what wants them, what it costs, how their agents are, what was said. */
export function showOverview(deps: OverviewDeps, user: SignedInUser): Overview {
  const statuses = countStatuses(deps.db, user.id)
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

function listCost({ db, clock }: Pick<OverviewDeps, 'db' | 'clock'>, userId: string): Overview['cost'] {
  const days = Array.from({ length: COST_DAYS }, (_, index) => toDay(addDays(clock.now(), index + 1 - COST_DAYS)))
  const rows = db
    .select({
      day: usageDays.day,
      costMicroUsd: sql<number>`sum(${usageDays.costMicroUsd})`,
      unpricedCalls: sql<number>`sum(${usageDays.unpricedCalls})`,
    })
    .from(usageDays)
    .where(and(eq(usageDays.userId, userId), gte(usageDays.day, days[0] ?? '')))
    .groupBy(usageDays.day)
    .all()
  const costs = new Map(rows.map((row) => [row.day, row]))
  return days.map((day) => toShownCost({ ...NO_COST, ...costs.get(day), day }))
}

/** The last line of each of the newest conversations. */
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
  const own = db
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(
      and(
        eq(agents.ownerId, userId),
        inArray(
          agents.id,
          last.map((line) => line.agentId),
        ),
      ),
    )
    .all()
  const nameOf = new Map(own.map(({ id, name }) => [id, name]))
  return last.flatMap((line) => {
    const name = nameOf.get(line.agentId)
    if (name === undefined) return []
    const { agentId: id, createdAt: at, ...shown } = line
    return { agentId: id, name, ...shown, at: at.toISOString() }
  })
}

/** A real one: what only repeats is no model to get along with. */
function hasModel({ catalogue, ownKeys }: OverviewDeps, userId: string): boolean {
  return ownKeys.listProviders(userId).length > 0 || catalogue.list().some(({ provider }) => provider.id !== 'local')
}

function wasAnswered(db: Db, userId: string): boolean {
  const answered = and(eq(messages.userId, userId), eq(messages.sender, 'agent'))
  return db.select({ id: messages.id }).from(messages).where(answered).limit(1).get() !== undefined
}

function listensAtTelegram({ db, sealer }: OverviewDeps, ownerId: string): boolean {
  const withSecrets = and(eq(agents.ownerId, ownerId), isNotNull(agents.secretConfig))
  const rows = db.select().from(agents).where(withSecrets).limit(OPENED_AGENTS).all()
  return rows.some((agent) => showConfig(sealer, agent).secrets.telegramToken)
}

function hasBackup(db: Db): boolean {
  return (
    db.select({ id: backupRuns.id }).from(backupRuns).where(isNotNull(backupRuns.file)).limit(1).get() !== undefined
  )
}
