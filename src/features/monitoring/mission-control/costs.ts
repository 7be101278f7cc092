import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findPlan } from '../../accounts/plans/plans.ts'
import { listAgents } from '../../agents/registry/agents.ts'
import { toShownStatus } from '../../agents/registry/status.ts'
import { addCosts, NO_COST, toCostUsd, toMissing } from '../../ai/usage/costs.ts'
import { wholeSpan } from '../../ai/usage/day-slices.ts'
import { sumCostByAgent } from '../../ai/usage/queries.ts'
import { usageDays } from '../../ai/usage/tables.ts'
import type { FleetCosts } from './schemas.ts'

/** What nobody sees. */
const NOTHING: FleetCosts = { costs: [], totalSpend: 0, managedAiCost: 0, coordinationRevenue: 0 }

/** At home plans are nobody's bill. */
export type CostsDeps = { db: Db; clock: Clock; plansArePaid: boolean }

/** What the user's agents have used, read from daily sums, beside the price of the plan where somebody pays it. */
export async function getFleetCosts(
  { db, clock, plansArePaid }: CostsDeps,
  user: SignedInUser | null,
): Promise<FleetCosts> {
  if (!user) return NOTHING
  const now = clock.now()
  const agents = listAgents(db, { kind: 'user', user })
  const firstMade = agents.at(-1)?.createdAt ?? now
  const isTheirs = eq(usageDays.userId, user.id)
  const thisMonth = await sumCostByAgent(db, { last: now, days: now.getUTCDate() }, isTheirs)
  const ever = await sumCostByAgent(db, wholeSpan(db, isTheirs, now), isTheirs)
  const total = addCosts(ever.values())
  return {
    costs: agents.map((agent) => ({
      agentId: agent.id,
      agentName: agent.name,
      status: toShownStatus(agent),
      tier: agent.plan,
      monthlyCost: toCostUsd(thisMonth.get(agent.id) ?? NO_COST),
      createdAt: agent.createdAt.toISOString(),
    })),
    totalSpend: toCostUsd(total),
    ...toMissing(total),
    managedAiCost: plansArePaid && user.subscriptionId !== null ? (findPlan(db, user.plan)?.priceGbp ?? 0) : 0,
    coordinationRevenue: 0,
    plan: user.plan,
    agentCount: agents.length,
    activeAgents: agents.filter(({ status }) => status === 'running' || status === 'sleeping').length,
    monthsActive: countMonths(firstMade, now),
  }
}

/** Months (UTC) that were begun, at least one. */
function countMonths(from: Date, to: Date): number {
  return Math.max(1, 1 + (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth())
}
