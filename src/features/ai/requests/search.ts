import { and, desc, eq, exists, gte, inArray, lt, lte, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { isBehind, isNotBehind, type NewestFirst, newestFirst } from '../../../db/pages.ts'
import { DIRECT, hasAgent, hasEndUser, hasFailed, hasKey, usageLogs, usageTags } from '../usage/tables.ts'

export type LoggedCallRow = typeof usageLogs.$inferSelect

/** Filters of calls. `before` is the id of the call that the page follows; `to` is exclusive. */
export type CallFilters = {
  keyId?: string | undefined
  agentId?: string | undefined
  model?: string | undefined
  endUser?: string | undefined
  tag?: string | undefined
  generationId?: string | undefined
  status?: 'succeeded' | 'failed' | undefined
  from?: Date | undefined
  to?: Date | undefined
  before?: number | undefined
}

/** Calls searched per request; a rare combination of filters may have more matches on later pages. */
const MAX_SEARCHED = 5000

/**
 * Finds a page of a user's calls, newest first. One filter chooses the index, the others are checked on at most 5,000
 * of the calls that it finds. `next` is the `before` of the next page, also after an empty page; null at the end.
 */
export function searchCalls(
  db: Db,
  userId: string,
  filters: CallFilters,
  limit: number,
): { rows: LoggedCallRow[]; next: number | null } {
  const end = selectSearched(db, userId, filters)
    .limit(1)
    .offset(MAX_SEARCHED - 1)
    .get()
  const ids = selectSearched(db, userId, filters, and(isWanted(db, filters), end && isNotBehind(orderOf(filters), end)))
    .limit(limit)
    .all()
  const isFound = inArray(
    usageLogs.id,
    ids.map(({ id }) => id),
  )
  const found = db.select().from(usageLogs).where(isFound).all()
  const byId = new Map(found.map((row) => [row.id, row]))
  const last = ids.length === limit ? ids.at(-1) : end
  return { rows: ids.flatMap(({ id }) => byId.get(id) ?? []), next: last?.id ?? null }
}

const CALLS = { table: usageLogs, time: usageLogs.createdAt, id: usageLogs.id }
const TAGGED = { table: usageTags, time: usageTags.createdAt, id: usageTags.logId }

function orderOf({ tag }: CallFilters): NewestFirst {
  return tag === undefined ? CALLS : TAGGED
}

/**
 * Selects the calls that one index finds, newest first. The index is named because SQLite, without statistics, prefers
 * the index by time for a range of times.
 */
export function selectSearched(db: Db, userId: string, filters: CallFilters, isMatch?: SQL) {
  const { index, isIndexed } = chooseIndex(userId, filters)
  const order = orderOf(filters)
  const toTime = (ms: number) => new Date(ms)
  return db
    .select({ id: sql<number>`${order.id}`, time: sql<Date>`${order.time}`.mapWith(toTime) })
    .from(sql`${order.table} INDEXED BY ${sql.identifier(index)}`)
    .where(and(isIndexed, isInRange(db, order, filters), isMatch))
    .orderBy(...newestFirst(order))
    .$dynamic()
}

/** Returns the index of the most selective filter, and its condition. */
function chooseIndex(
  userId: string,
  { tag, generationId, endUser, keyId, status, agentId, model }: CallFilters,
): { index: string; isIndexed: SQL | undefined } {
  const isOwn = eq(usageLogs.userId, userId)
  if (tag !== undefined) {
    const isTagged = and(eq(usageTags.userId, userId), eq(usageTags.tag, tag))
    return { index: 'usage_tags_by_tag', isIndexed: isTagged }
  }
  if (generationId !== undefined) {
    const isNamed = eq(usageLogs.generationId, generationId)
    return { index: 'usage_logs_generationId_unique', isIndexed: and(isOwn, isNamed) }
  }
  if (endUser !== undefined) {
    return { index: 'usage_logs_by_end_user', isIndexed: and(isOwn, eq(usageLogs.endUser, endUser), hasEndUser) }
  }
  if (keyId !== undefined) {
    return { index: 'usage_logs_by_key', isIndexed: and(isOwn, eq(usageLogs.keyId, keyId), hasKey) }
  }
  if (status === 'failed') return { index: 'usage_logs_failed', isIndexed: and(isOwn, hasFailed) }
  if (agentId !== undefined && agentId !== DIRECT) {
    return { index: 'usage_logs_by_agent', isIndexed: and(isOwn, eq(usageLogs.agentId, agentId), hasAgent) }
  }
  if (model !== undefined) return { index: 'usage_logs_by_model', isIndexed: and(isOwn, eq(usageLogs.model, model)) }
  return { index: 'usage_logs_by_user', isIndexed: isOwn }
}

function isInRange(db: Db, order: NewestFirst, { from, to, before }: CallFilters): SQL | undefined {
  return and(
    from && gte(order.time, from),
    to && lt(order.time, to),
    before === undefined ? undefined : isAfter(db, order, before),
  )
}

/** Follows the index, so that a late page costs as much as the first. A deleted call is replaced by the one before it. */
function isAfter(db: Db, order: NewestFirst, before: number): SQL {
  const nearest = db
    .select({ createdAt: usageLogs.createdAt })
    .from(usageLogs)
    .where(lte(usageLogs.id, before))
    .orderBy(desc(usageLogs.id))
    .limit(1)
    .get()
  return isBehind(order, { time: nearest?.createdAt ?? new Date(0), id: before })
}

function isWanted(db: Db, filters: CallFilters): SQL | undefined {
  const { tag, agentId, model, keyId, endUser, generationId, status } = filters
  const isWantedCall = and(
    agentId === undefined ? undefined : eq(usageLogs.agentId, agentId),
    model === undefined ? undefined : eq(usageLogs.model, model),
    keyId === undefined ? undefined : eq(usageLogs.keyId, keyId),
    endUser === undefined ? undefined : eq(usageLogs.endUser, endUser),
    generationId === undefined ? undefined : eq(usageLogs.generationId, generationId),
    status === undefined ? undefined : eq(usageLogs.success, status === 'succeeded'),
  )
  if (tag === undefined || !isWantedCall) return isWantedCall
  const isTagged = eq(usageLogs.id, usageTags.logId)
  return exists(db.select({ id: usageLogs.id }).from(usageLogs).where(and(isTagged, isWantedCall)))
}
