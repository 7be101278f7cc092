import { and, asc, count, desc, eq, exists, inArray, type SQL, sql } from 'drizzle-orm'
import { toDay } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { ChangeFeed } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import type { EventStream } from '../../../http/streams/sse.ts'
import { pause } from '../../../jobs/runner.ts'
import { type DeletionDeps, deleteAgent } from '../../agents/deployments/delete.ts'
import {
  type LifecycleDeps,
  restartAgent,
  startAgent,
  stopAgent,
  updateUserAgent,
} from '../../agents/deployments/lifecycle.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { shownStatus, toShownAgentError } from '../../agents/registry/status.ts'
import { agentLabels, agents } from '../../agents/registry/tables.ts'
import { readHours } from '../../agents/watchdog/uptime.ts'
import { type CostSum, toCostUsd } from '../../ai/usage/costs.ts'
import type { Base } from '../../base.ts'
import { countByStatus, matchesAgent, messagesOfDay, selectActivity } from '../metrics/queries.ts'
import type {
  FleetAgent,
  FleetChange,
  FleetChanged,
  FleetEvent,
  FleetFigures,
  FleetPage,
  FleetQuery,
} from './schemas.ts'

/** The width of an uptime bar on a phone. */
const UPTIME_HOURS = 30
/** Agents with problems come first. */
const STATUS_ORDER = ['error', 'unknown', 'provisioning', 'pending', 'running', 'sleeping', 'stopped']

/** Returns a page of the user's agents with today's activity; the database sorts. */
export function listFleetPage({ db, clock }: Base, ownerId: string, query: FleetQuery): FleetPage {
  const now = clock.now()
  const fits = and(matchesAgent(query.search, { withOwner: false }), hasLabel(db, query.label))
  const statuses = countByStatus(db, ownerId, fits)
  const isWanted = query.status && eq(shownStatus, query.status)
  const rows = selectActivity(db, ownerId, toDay(now), and(fits, isWanted))
    .orderBy(...orderOf(query))
    .limit(query.limit)
    .offset(query.offset)
    .all()
  const total = query.status ? (statuses[query.status] ?? 0) : Object.values(statuses).reduce((sum, n) => sum + n, 0)
  return { agents: describe(db, rows, now), total, statuses, labels: listLabels(db, ownerId) }
}

type Row = { id: string; name: string; status: FleetAgent['status']; messages: number } & CostSum

/** Adds the details that only the rows of this page need. */
function describe(db: Db, rows: Row[], now: Date): FleetAgent[] {
  const ids = rows.map(({ id }) => id)
  const labels = db.select().from(agentLabels).where(inArray(agentLabels.agentId, ids)).orderBy(agentLabels.label).all()
  const detailOf = new Map(readDetails(db, ids).map((detail) => [detail.id, detail]))
  const labelsOf = Map.groupBy(labels, ({ agentId }) => agentId)
  const hoursOf = readHours(db, ids, now, UPTIME_HOURS)
  return rows.flatMap((row) => {
    const detail = detailOf.get(row.id)
    const labelsOfRow = (labelsOf.get(row.id) ?? []).map(({ label }) => label)
    return detail ? { ...toFleetRow(row, detail), labels: labelsOfRow, uptime: hoursOf(row.id) } : []
  })
}

function readDetails(db: Db, ids: string[]) {
  const { id, model, runtime, lastError, createdAt } = agents
  return db
    .select({ id, model, runtime, lastError, createdAt, lastActivity })
    .from(agents)
    .where(inArray(id, ids))
    .all()
}

type Detail = ReturnType<typeof readDetails>[number]

function toFleetRow(row: Row, detail: Detail): Omit<FleetAgent, 'labels' | 'uptime'> {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    messagesToday: row.messages,
    costTodayUsd: toCostUsd(row),
    model: detail.model,
    runtime: detail.runtime,
    lastError: toShownAgentError(row.status, detail),
    lastActivity: detail.lastActivity === null ? null : new Date(detail.lastActivity).toISOString(),
    createdAt: detail.createdAt.toISOString(),
  }
}

/**
 * The newest message is the last index entry of the agent, so no other row is read. Column names are written out
 * because Drizzle omits the table name in a select list.
 */
const lastActivity = sql<
  number | null
>`(SELECT messages.created_at FROM messages WHERE messages.agent_id = agents.id ORDER BY messages.sequence DESC LIMIT 1)`

function rankOfStatus(): SQL {
  const cases = STATUS_ORDER.map((status, index) => sql`WHEN ${status} THEN ${index}`)
  return sql`CASE ${shownStatus} ${sql.join(cases, sql` `)} END`
}

function orderOf({ sort, order }: FleetQuery): SQL[] {
  const name = sql`${agents.name} COLLATE NOCASE`
  const by = {
    name,
    status: rankOfStatus(),
    messages: messagesOfDay,
    cost: sql`coalesce(costs.micro_usd, 0)`,
    activity: lastActivity,
    created: sql`${agents.createdAt}`,
  }[sort]
  const natural = sort === 'name' || sort === 'status' ? 'asc' : 'desc'
  return [(order ?? natural) === 'asc' ? asc(by) : desc(by), asc(name), asc(agents.id)]
}

function hasLabel(db: Db, label: string | undefined): SQL | undefined {
  if (label === undefined) return undefined
  const own = and(eq(agentLabels.agentId, agents.id), eq(agentLabels.label, label))
  return exists(db.select({ found: sql`1` }).from(agentLabels).where(own))
}

function listLabels(db: Db, ownerId: string): FleetPage['labels'] {
  return db
    .select({ label: agentLabels.label, agents: count() })
    .from(agentLabels)
    .innerJoin(agents, eq(agents.id, agentLabels.agentId))
    .where(eq(agents.ownerId, ownerId))
    .groupBy(agentLabels.label)
    .orderBy(agentLabels.label)
    .all()
}

/** A user's agents are read at most once in this time. */
const LOOK_MS = 1_000

/** Streams changes of the user's agents until `signal` aborts; the first event is empty and confirms the connection. */
export async function followFleet(
  { db, clock, changes }: Base & { changes: ChangeFeed },
  ownerId: string,
  { send, signal }: EventStream,
): Promise<void> {
  let known = new Map<string, string>()
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const seen = changes.count()
    const now = selectActivity(db, ownerId, toDay(clock.now())).all().map(toFigures)
    const { event, next } = compare(known, now)
    known = next
    if (isFirst) await send('agents', { changed: [], gone: [] } satisfies FleetEvent)
    else if (event.changed.length > 0 || event.gone.length > 0) await send('agents', event)
    await pause(LOOK_MS, signal)
    await changes.changed(seen, signal)
  }
}

function compare(
  known: ReadonlyMap<string, string>,
  now: FleetFigures[],
): { event: FleetEvent; next: Map<string, string> } {
  const next = new Map(now.map((figures) => [figures.id, JSON.stringify(figures)]))
  const changed = now.filter(({ id }) => known.get(id) !== next.get(id))
  return { event: { changed, gone: [...known.keys()].filter((id) => !next.has(id)) }, next }
}

function toFigures({
  messages,
  costMicroUsd,
  unpricedCalls,
  ...row
}: { messages: number } & CostSum & Pick<FleetFigures, 'id' | 'name' | 'status'>): FleetFigures {
  return { ...row, messagesToday: messages, costTodayUsd: toCostUsd({ costMicroUsd, unpricedCalls }) }
}

export type FleetChangeDeps = LifecycleDeps & DeletionDeps

/** Concurrent changes of one request. */
const AT_ONCE = 4

/** Applies one action to several agents concurrently. A failure does not stop the others. */
export async function changeFleet(
  deps: FleetChangeDeps,
  principal: Principal,
  { verb, agentIds }: FleetChange,
): Promise<FleetChanged> {
  const waiting = [...new Set(agentIds)].map((id, index) => ({ id, index }))
  const results: FleetChanged['results'] = waiting.map(({ id }) => ({ id, error: null }))
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      results[next.index] = { id: next.id, error: await changeOne(deps, principal, verb, next.id) }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { results }
}

/** @returns the error message for the owner; null on success. */
async function changeOne(
  deps: FleetChangeDeps,
  principal: Principal,
  verb: FleetChange['verb'],
  id: string,
): Promise<string | null> {
  try {
    await verbs[verb](deps, principal, id)
    return null
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

type Carry = (deps: FleetChangeDeps, principal: Principal, id: string) => Promise<unknown>

const verbs: Record<FleetChange['verb'], Carry> = {
  start: startAgent,
  stop: stopAgent,
  restart: restartAgent,
  update: (deps, principal, id) => updateUserAgent(deps, principal, id, undefined),
  // `deleteAgent` ignores missing agents; a user who selected one gets an error.
  delete: (deps, principal, id) => deleteAgent(deps, principal, getAgent(deps.db, principal, id).id),
}
