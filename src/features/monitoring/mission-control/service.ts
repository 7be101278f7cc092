import { and, desc, eq } from 'drizzle-orm'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findPlan } from '../../accounts/plans/plans.ts'
import { listAgents } from '../../agents/registry/agents.ts'
import { toShownStatus } from '../../agents/registry/status.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { addCosts, NO_COST, toCostUsd, toMissing } from '../../ai/usage/costs.ts'
import { wholeSpan } from '../../ai/usage/day-slices.ts'
import { sumCostByAgent } from '../../ai/usage/queries.ts'
import { usageDays, usageLogs } from '../../ai/usage/tables.ts'
import type { Base } from '../../base.ts'
import { findAgentNames, listNewestCalls, type ModelCallRow } from '../metrics/queries.ts'
import type { Bookings, FleetCosts, Trace } from './schemas.ts'

const MAX_BOOKINGS = 10

/** Returns the user's newest ten agents that wait for their first deployment. */
export function listBookings(db: Db, user: SignedInUser | null): Bookings {
  if (!user) return { bookings: [] }
  const rows = db
    .select()
    .from(agents)
    .where(and(eq(agents.ownerId, user.id), eq(agents.status, 'pending')))
    .orderBy(desc(agents.createdAt), desc(agents.id))
    .limit(MAX_BOOKINGS)
    .all()
  return { bookings: rows.map(toBooking) }
}

function toBooking({ id, name, plan, createdAt }: AgentRow): Bookings['bookings'][number] {
  return { id, agentName: name, status: 'pending', tier: plan, createdAt: createdAt.toISOString() }
}

/** Shown to anonymous visitors. */
const NOTHING: FleetCosts = { costs: [], totalSpend: 0, managedAiCost: 0, coordinationRevenue: 0 }

/** Returns the usage of the user's agents from daily sums, and the price of the plan where plans are sold. */
export async function getFleetCosts(
  { db, clock, plansArePaid }: Base & { plansArePaid: boolean },
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

/** Counts started months (UTC), at least one. */
function countMonths(from: Date, to: Date): number {
  return Math.max(1, 1 + (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth())
}

const MAX_TRACES = 20

/** Returns the user's last 20 model calls, newest first. */
export function listTraces(db: Db, user: SignedInUser | null): Trace[] {
  if (!user) return []
  const calls = listNewestCalls(db, eq(usageLogs.userId, user.id), MAX_TRACES)
  const names = findAgentNames(
    db,
    calls.map(({ agentId }) => agentId),
  )
  return calls.map((call) => toTrace(call, names.get(call.agentId) ?? call.agentId))
}

/** A call is recorded when it ends. */
function toTrace(call: ModelCallRow, agentName: string): Trace {
  const endedAt = call.createdAt
  return {
    id: String(call.id),
    status: call.success ? 'completed' : 'failed',
    description: agentName ? `${agentName}: ${call.model}` : call.model,
    startedAt: new Date(endedAt.getTime() - (call.latencyMs ?? 0)).toISOString(),
    completedAt: endedAt.toISOString(),
    tokensUsed: call.inputTokens + call.outputTokens,
    costUSD: call.isUnpriced ? null : toUsd(call.costMicroUsd),
    estimated: call.estimated,
    model: call.model,
  }
}
