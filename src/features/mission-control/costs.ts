import { and, eq, gte, sql } from 'drizzle-orm'
import { type Clock, toMonth } from '../../core/clock.ts'
import { toUsd } from '../../core/money.ts'
import type { Db } from '../../db/open.ts'
import type { SignedInUser } from '../../http/env.ts'
import { listAgents } from '../agents/list.ts'
import { findPlan } from '../plans/plans.ts'
import { usageDays } from '../usage/tables.ts'
import type { FleetCosts } from './schemas.ts'

/** What nobody sees. */
const NOTHING: FleetCosts = { costs: [], totalSpend: 0, managedAiCost: 0, coordinationRevenue: 0 }

/** At home plans are nobody's bill. */
export type CostsDeps = { db: Db; clock: Clock; plansArePaid: boolean }

/** What the user's agents have used, read from daily sums, beside the price of the plan where somebody pays it. */
export function getFleetCosts({ db, clock, plansArePaid }: CostsDeps, user: SignedInUser | null): FleetCosts {
  if (!user) return NOTHING
  const agents = listAgents(db, { kind: 'user', user })
  const firstMade = agents.at(-1)?.createdAt ?? clock.now()
  const thisMonth = sumByAgent(db, user.id, `${toMonth(clock.now())}-01`)
  return {
    costs: agents.map((agent) => ({
      agentId: agent.id,
      agentName: agent.name,
      status: agent.status,
      tier: agent.plan,
      monthlyCost: toUsd(thisMonth.get(agent.id) ?? 0),
      createdAt: agent.createdAt.toISOString(),
    })),
    totalSpend: toUsd([...sumByAgent(db, user.id, '').values()].reduce((sum, cost) => sum + cost, 0)),
    managedAiCost: plansArePaid && user.subscriptionId !== null ? (findPlan(user.plan)?.priceGbp ?? 0) : 0,
    coordinationRevenue: 0,
    plan: user.plan,
    agentCount: agents.length,
    activeAgents: agents.filter(({ status }) => status === 'running').length,
    monthsActive: countMonths(firstMade, clock.now()),
  }
}

/** Micro-dollars by agent since a day. */
function sumByAgent(db: Db, userId: string, firstDay: string): Map<string, number> {
  const rows = db
    .select({ agentId: usageDays.agentId, cost: sql<number>`sum(${usageDays.costMicroUsd})` })
    .from(usageDays)
    .where(and(eq(usageDays.userId, userId), gte(usageDays.day, firstDay)))
    .groupBy(usageDays.agentId)
    .all()
  return new Map(rows.map(({ agentId, cost }) => [agentId, cost]))
}

/** Months (UTC) that were begun, at least one. */
function countMonths(from: Date, to: Date): number {
  return Math.max(1, 1 + (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth())
}
