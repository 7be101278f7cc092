import { and, desc, eq, or, type SQL } from 'drizzle-orm'
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import { Hono } from 'hono'
import { formatMicroUsd, toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, Principal, WebEnv } from '../../../http/env.ts'
import { type InternalKeyGuard, refuseWrongKeyAsUnauthorized } from '../../../http/internal-key.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { AgentAddresses } from '../../agents/registry/address.ts'
import { toBackendStatus } from '../../agents/registry/status.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { toCostUsd } from '../../ai/usage/costs.ts'
import { wholeSpan } from '../../ai/usage/day-slices.ts'
import { sumCostByAgent } from '../../ai/usage/queries.ts'
import type { UsageRecorder } from '../../ai/usage/recorder.ts'
import { usageDays, usageLogs } from '../../ai/usage/tables.ts'
import type { Base } from '../../base.ts'
import { listTeams } from '../../conversations/swarms/runs.ts'
import { bookings, events } from '../../payments/underground/tables.ts'
import { listNewestCalls, type ModelCallRow } from '../metrics/queries.ts'
import { getFleetGraph, listEdges } from './graph.ts'
import {
  BackendBookings,
  BackendCosts,
  BackendGraph,
  BackendTraces,
  Bookings,
  FleetCosts,
  FleetGraph,
  MissionControlQuery,
  TraceList,
} from './schemas.ts'
import { getFleetCosts, listBookings, listTraces } from './service.ts'

/** The signed-in user's fleet; anonymous visitors get an empty one. */
export function missionControlWeb(
  deps: Base & {
    addresses: AgentAddresses
    appUrl: string
    plansArePaid: boolean
    guards: Guards
    usage: Pick<UsageRecorder, 'flush'>
  },
) {
  const app = new Hono<WebEnv>()
  const { findUser } = deps.guards

  app.get(
    '/api/mission-control/fleet/graph',
    endpoint({
      summary: 'Returns the graph of agents',
      tag: 'Mission control',
      responses: { 200: FleetGraph },
      errors: ['unauthenticated'],
    }),
    async (c) => c.json(getFleetGraph(deps, await findUser(c))),
  )

  app.get(
    '/api/mission-control/fleet/traces',
    endpoint({
      summary: 'Lists recent model calls',
      tag: 'Mission control',
      responses: { 200: TraceList },
      errors: ['unauthenticated'],
    }),
    async (c) => {
      const user = await findUser(c)
      await deps.usage.flush()
      return c.json(listTraces(deps.db, user))
    },
  )

  app.get(
    '/api/mission-control/fleet/costs',
    endpoint({
      summary: 'Returns the cost of each agent',
      tag: 'Mission control',
      responses: { 200: FleetCosts },
      errors: ['unauthenticated'],
    }),
    async (c) => {
      const user = await findUser(c)
      await deps.usage.flush()
      return c.json(await getFleetCosts(deps, user))
    },
  )

  app.get(
    '/api/mission-control/fleet/bookings',
    endpoint({
      summary: 'Lists bookings and pending payments',
      tag: 'Mission control',
      responses: { 200: Bookings },
      errors: ['unauthenticated'],
    }),
    async (c) => c.json(listBookings(deps.db, await findUser(c))),
  )

  return app
}

const MAX_NODES = 1000
const MAX_TRACES = 50
const MAX_BOOKINGS = 50

/** The fleet for other services: of one user or, for the operator, of all. A wrong key is 401 here instead of 403. */
export function missionControlBackend(
  deps: Base & { internalKey: InternalKeyGuard; usage: Pick<UsageRecorder, 'flush'> },
) {
  const app = new Hono<BackendEnv>()
  const { db } = deps
  const guard = refuseWrongKeyAsUnauthorized(deps.internalKey)
  const query = validate('query', MissionControlQuery)

  app.get(
    '/api/mission-control/fleet/graph',
    endpoint({
      summary: 'Returns the graph of agents',
      tag: 'Mission control',
      responses: { 200: BackendGraph },
      errors: ['unauthenticated'],
    }),
    guard,
    query,
    (c) => c.json(getGraph(db, c.var.principal, c.req.valid('query').userId)),
  )

  app.get(
    '/api/mission-control/fleet/traces',
    endpoint({
      summary: 'Lists recent model calls',
      tag: 'Mission control',
      responses: { 200: BackendTraces },
      errors: ['unauthenticated'],
    }),
    guard,
    query,
    async (c) => {
      await deps.usage.flush()
      return c.json(listCalls(db, c.var.principal, c.req.valid('query').userId))
    },
  )

  app.get(
    '/api/mission-control/fleet/costs',
    endpoint({
      summary: 'Returns the cost of each agent',
      tag: 'Mission control',
      responses: { 200: BackendCosts },
      errors: ['unauthenticated'],
    }),
    guard,
    query,
    async (c) => {
      await deps.usage.flush()
      return c.json(await listCosts(deps, rowsOf(usageDays.userId, c.var.principal, c.req.valid('query').userId)))
    },
  )

  app.get(
    '/api/mission-control/fleet/bookings',
    endpoint({
      summary: 'Lists bookings and pending payments',
      tag: 'Mission control',
      responses: { 200: BackendBookings },
      errors: ['unauthenticated'],
    }),
    guard,
    query,
    (c) => c.json(listBusBookings(db, c.var.principal, c.req.valid('query').userId)),
  )

  return app
}

/** Restricts rows to the named user; a user's key never reaches other users' rows. */
function rowsOf(column: AnySQLiteColumn, principal: Principal, userId: string | undefined): SQL | undefined {
  return and(
    principal.kind === 'user' ? eq(column, principal.user.id) : undefined,
    userId === undefined ? undefined : eq(column, userId),
  )
}

function getGraph(db: Db, principal: Principal, userId: string | undefined) {
  const rows = db
    .select()
    .from(agents)
    .where(rowsOf(agents.ownerId, principal, userId))
    .orderBy(desc(agents.createdAt), desc(agents.id))
    .limit(MAX_NODES)
    .all()
  const teams = listTeams(db, principal.kind === 'user' ? principal.user.id : (userId ?? null))
  return {
    nodes: rows.map(toBackendNode),
    edges: listEdges(rows, teams).map(({ id, from, to }) => ({ id, source: from, target: to, label: 'swarm' })),
  }
}

function toBackendNode({ id, name, status, model, plan, createdAt }: AgentRow) {
  const metadata = { model, plan, createdAt: createdAt.toISOString() }
  return { id, name, type: 'agent' as const, status: toBackendStatus(status), metadata }
}

function listCalls(db: Db, principal: Principal, userId: string | undefined) {
  return listNewestCalls(db, rowsOf(usageLogs.userId, principal, userId), MAX_TRACES).map(toCallTrace)
}

function toCallTrace(call: ModelCallRow) {
  return {
    id: call.id,
    user_id: call.userId,
    agent_id: call.agentId,
    model: call.model,
    provider: call.provider,
    input_tokens: call.inputTokens,
    output_tokens: call.outputTokens,
    cost_usd: call.isUnpriced ? null : toUsd(call.costMicroUsd),
    latency_ms: call.latencyMs,
    success: call.success,
    created_at: call.createdAt.toISOString(),
  }
}

async function listCosts({ db, clock }: Base, condition: SQL | undefined) {
  const spent = await sumCostByAgent(db, wholeSpan(db, condition, clock.now()), condition)
  return [...spent]
    .sort(([, one], [, other]) => other.costMicroUsd - one.costMicroUsd)
    .map(([agentId, cost]) => ({
      agent_id: agentId,
      total_spend: toCostUsd(cost),
      ...(cost.unpricedCalls > 0 && { unpriced_calls: cost.unpricedCalls }),
      category: 'ai',
    }))
}

/** Lists bookings between agents, newest first, named after the event or else the talent. */
function listBusBookings(db: Db, principal: Principal, userId: string | undefined) {
  const isParty = (id: string | undefined) =>
    id === undefined ? undefined : or(eq(bookings.payerId, id), eq(bookings.payeeId, id))
  const rows = db
    .select({ booking: bookings, eventName: events.name })
    .from(bookings)
    .leftJoin(events, eq(events.id, bookings.eventId))
    .where(and(isParty(principal.kind === 'user' ? principal.user.id : undefined), isParty(userId)))
    .orderBy(desc(bookings.createdAt), desc(bookings.id))
    .limit(MAX_BOOKINGS)
    .all()
  return rows.map(({ booking, eventName }) => toBusBooking(booking, eventName))
}

function toBusBooking(booking: typeof bookings.$inferSelect, eventName: string | null) {
  const price = formatMicroUsd(booking.guaranteeMicroUsd, 2)
  return {
    id: booking.id,
    user_id: booking.payerId,
    agent_id: booking.offeringAgentId,
    talent_agent_id: booking.talentAgentId,
    event_id: booking.eventId,
    event_name: eventName ?? booking.talentName,
    status: booking.status,
    proposed_price_usdc: price,
    final_price_usdc: booking.status === 'confirmed' ? price : null,
    created_at: booking.createdAt.toISOString(),
  }
}
