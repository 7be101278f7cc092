import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Agent id of calls that no agent made. */
export const DIRECT = 'direct'

/** Conditions of the partial indexes of `usageLogs`. SQLite uses such an index only where a query repeats its condition. */
export const hasAgent = sql`agent_id <> 'direct'`
export const hasKey = sql`key_id IS NOT NULL`
export const hasEndUser = sql`end_user IS NOT NULL`
export const hasFailed = sql`success = 0`
export const isFurtherAttempt = sql`call_id IS NOT NULL`

/**
 * One attempt of a call. `generationId` is null for an attempt without a usage record, because it cost nothing. `failure` is
 * the kind of the error, `cooldown` for a model that was not asked, and null for the attempt that answered.
 */
export type TrailStep = {
  generationId: string | null
  model: string
  provider: string
  latencyMs: number
  failure: string | null
  error: string | null
}

/** The origin of a cost: the provider's report, the administrator's price, the list price, or the response cache, which is free. */
export const PRICE_SOURCES = ['provider', 'administrator', 'list', 'cache'] as const
export type PriceSource = (typeof PRICE_SOURCES)[number]

/**
 * One row per completion, failed ones included. No foreign keys: rows outlive user and agent. `generationId` prevents
 * duplicates. The partial indexes serve the filters of the request log; their conditions are repeated in its queries.
 */
export const usageLogs = sqliteTable(
  'usage_logs',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    userId: text().notNull(),
    agentId: text().notNull(),
    model: text().notNull(),
    /** All prompt tokens. */
    inputTokens: integer().notNull().default(0),
    outputTokens: integer().notNull().default(0),
    costMicroUsd: integer().notNull().default(0),
    /** The cost is unknown, and `costMicroUsd` is 0. */
    isUnpriced: integer({ mode: 'boolean' }).notNull().default(false),
    endpoint: text(),
    latencyMs: integer(),
    success: integer({ mode: 'boolean' }).notNull().default(true),
    errorMessage: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    generationId: text().unique(),
    provider: text().notNull().default(''),
    keyId: text(),
    attempts: integer().notNull().default(1),
    isOwnKey: integer({ mode: 'boolean' }).notNull().default(false),
    /** No provider reported the usage. */
    estimated: integer({ mode: 'boolean' }).notNull().default(false),
    /** The parts of `inputTokens` read from the provider's cache, and written to it for 5 minutes and for an hour. */
    cachedInputTokens: integer().notNull().default(0),
    cacheCreationTokens: integer().notNull().default(0),
    cacheCreationHourTokens: integer().notNull().default(0),
    /** Time to the first chunk of a streamed answer. */
    firstTokenMs: integer(),
    priceSource: text({ enum: PRICE_SOURCES }),
    finishReason: text(),
    /** The generation id of the first attempt; null on that attempt. */
    callId: text(),
    /** All attempts up to this one; null when there is one and no model was skipped. */
    trail: text({ mode: 'json' }).$type<readonly TrailStep[]>(),
    endUser: text(),
    tags: text({ mode: 'json' }).$type<readonly string[]>(),
  },
  (table) => [
    index('usage_logs_by_user').on(table.userId, table.createdAt),
    index('usage_logs_by_time').on(table.createdAt),
    index('usage_logs_by_model').on(table.userId, table.model, table.createdAt),
    index('usage_logs_by_agent').on(table.userId, table.agentId, table.createdAt).where(hasAgent),
    index('usage_logs_by_key').on(table.userId, table.keyId, table.createdAt).where(hasKey),
    index('usage_logs_by_end_user').on(table.userId, table.endUser, table.createdAt).where(hasEndUser),
    index('usage_logs_failed').on(table.userId, table.createdAt).where(hasFailed),
    index('usage_logs_by_call').on(table.callId).where(isFurtherAttempt),
  ],
)

/** Tags of calls, one row per call and tag. `createdAt` is the time of the call. */
export const usageTags = sqliteTable(
  'usage_tags',
  {
    logId: integer()
      .notNull()
      .references(() => usageLogs.id, { onDelete: 'cascade' }),
    tag: text().notNull(),
    userId: text().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.logId, table.tag] }),
    index('usage_tags_by_tag').on(table.userId, table.tag, table.createdAt, table.logId),
  ],
)

/** Redacted bodies of calls, stored only for keys and agents whose owner turned it on. `answer` is null for failed calls. */
export const requestBodies = sqliteTable(
  'request_bodies',
  {
    generationId: text().primaryKey(),
    userId: text().notNull(),
    request: text().notNull(),
    answer: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('request_bodies_by_user').on(table.userId), index('request_bodies_by_time').on(table.createdAt)],
)

/** Monthly usage (UTC) of each end user of a key. `endUser` is empty for calls that name none. */
export const usageEndUserMonths = sqliteTable(
  'usage_end_user_months',
  {
    userId: text().notNull(),
    keyId: text().notNull(),
    month: text().notNull(),
    endUser: text().notNull(),
    tokens: integer().notNull(),
    costMicroUsd: integer().notNull(),
    calls: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.keyId, table.month, table.endUser] }),
    index('usage_end_user_months_by_month').on(table.month),
  ],
)

/** For `onConflictDoUpdate` of an end user's month. */
export const addedEndUserSums = {
  tokens: sql`${usageEndUserMonths.tokens} + excluded.tokens`,
  costMicroUsd: sql`${usageEndUserMonths.costMicroUsd} + excluded.cost_micro_usd`,
  calls: sql`${usageEndUserMonths.calls} + excluded.calls`,
}

/** Daily sums (UTC), so that dashboards need not read single calls. */
export const usageDays = sqliteTable(
  'usage_days',
  {
    userId: text().notNull(),
    day: text().notNull(),
    agentId: text().notNull(),
    model: text().notNull(),
    provider: text().notNull().default(''),
    inputTokens: integer().notNull(),
    /** The parts of `inputTokens` read from providers' caches, and written to them. */
    cachedInputTokens: integer().notNull().default(0),
    cacheCreationTokens: integer().notNull().default(0),
    outputTokens: integer().notNull(),
    costMicroUsd: integer().notNull(),
    calls: integer().notNull(),
    /** Calls without a known cost, missing from `costMicroUsd`. */
    unpricedCalls: integer().notNull().default(0),
    /** The part of `costMicroUsd` that users' own provider keys paid. */
    ownKeyCostMicroUsd: integer().notNull().default(0),
    /** The part of tokens and cost that no provider reported. */
    estimatedTokens: integer().notNull().default(0),
    estimatedCostMicroUsd: integer().notNull().default(0),
    /** Calls whose cost the provider reported and whose list price is known, that cost, and the cost by list prices. */
    reportedCalls: integer().notNull().default(0),
    reportedCostMicroUsd: integer().notNull().default(0),
    listCostMicroUsd: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.day, table.agentId, table.model, table.provider] }),
    index('usage_days_by_day').on(table.day),
  ],
)

/** For `onConflictDoUpdate` of a day: adds the new sums. */
export const addedDaySums = {
  inputTokens: sql`${usageDays.inputTokens} + excluded.input_tokens`,
  cachedInputTokens: sql`${usageDays.cachedInputTokens} + excluded.cached_input_tokens`,
  cacheCreationTokens: sql`${usageDays.cacheCreationTokens} + excluded.cache_creation_tokens`,
  outputTokens: sql`${usageDays.outputTokens} + excluded.output_tokens`,
  costMicroUsd: sql`${usageDays.costMicroUsd} + excluded.cost_micro_usd`,
  calls: sql`${usageDays.calls} + excluded.calls`,
  unpricedCalls: sql`${usageDays.unpricedCalls} + excluded.unpriced_calls`,
  ownKeyCostMicroUsd: sql`${usageDays.ownKeyCostMicroUsd} + excluded.own_key_cost_micro_usd`,
  estimatedTokens: sql`${usageDays.estimatedTokens} + excluded.estimated_tokens`,
  estimatedCostMicroUsd: sql`${usageDays.estimatedCostMicroUsd} + excluded.estimated_cost_micro_usd`,
  reportedCalls: sql`${usageDays.reportedCalls} + excluded.reported_calls`,
  reportedCostMicroUsd: sql`${usageDays.reportedCostMicroUsd} + excluded.reported_cost_micro_usd`,
  listCostMicroUsd: sql`${usageDays.listCostMicroUsd} + excluded.list_cost_micro_usd`,
}

/** Monthly usage (UTC) that counts against a user's plan: calls with own provider keys are left out. */
export const usageMonths = sqliteTable(
  'usage_months',
  {
    userId: text().notNull(),
    month: text().notNull(),
    tokens: integer().notNull(),
    costMicroUsd: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.userId, table.month] })],
)

/** Monthly usage (UTC) that counts against a key's limits. */
export const usageKeyMonths = sqliteTable(
  'usage_key_months',
  {
    keyId: text().notNull(),
    month: text().notNull(),
    tokens: integer().notNull(),
    costMicroUsd: integer().notNull(),
    calls: integer().notNull(),
    unpricedCalls: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.keyId, table.month] })],
)

/** For `onConflictDoUpdate` of a key's month. */
export const addedKeySums = {
  tokens: sql`${usageKeyMonths.tokens} + excluded.tokens`,
  costMicroUsd: sql`${usageKeyMonths.costMicroUsd} + excluded.cost_micro_usd`,
  calls: sql`${usageKeyMonths.calls} + excluded.calls`,
  unpricedCalls: sql`${usageKeyMonths.unpricedCalls} + excluded.unpriced_calls`,
}

/** Daily usage (UTC) of a key by model, a part of the `usage_days` without an agent. */
export const usageKeyDays = sqliteTable(
  'usage_key_days',
  {
    userId: text().notNull(),
    day: text().notNull(),
    keyId: text().notNull(),
    model: text().notNull(),
    tokens: integer().notNull(),
    costMicroUsd: integer().notNull(),
    calls: integer().notNull(),
    unpricedCalls: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.day, table.keyId, table.model] }),
    index('usage_key_days_by_key').on(table.keyId, table.day),
  ],
)

/** For `onConflictDoUpdate` of a key's day. */
export const addedKeyDaySums = {
  tokens: sql`${usageKeyDays.tokens} + excluded.tokens`,
  costMicroUsd: sql`${usageKeyDays.costMicroUsd} + excluded.cost_micro_usd`,
  calls: sql`${usageKeyDays.calls} + excluded.calls`,
  unpricedCalls: sql`${usageKeyDays.unpricedCalls} + excluded.unpriced_calls`,
}

/** One tool use, as reported by the agent. `userId` is the agent's owner. */
export const toolEvents = sqliteTable(
  'tool_events',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    userId: text().notNull(),
    agentId: text(),
    sessionId: text(),
    toolName: text().notNull(),
    success: integer({ mode: 'boolean' }).notNull(),
    durationMs: integer(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('tool_events_by_time').on(table.createdAt),
    index('tool_events_by_user').on(table.userId, table.createdAt),
  ],
)

/** Daily tool uses (UTC), which outlive the single events. `agentId` is empty when unknown. */
export const toolDays = sqliteTable(
  'tool_days',
  {
    userId: text().notNull(),
    day: text().notNull(),
    agentId: text().notNull(),
    toolName: text().notNull(),
    calls: integer().notNull(),
    successes: integer().notNull(),
    /** Calls with a known duration. */
    timedCalls: integer().notNull(),
    durationMs: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.day, table.agentId, table.toolName] }),
    index('tool_days_by_day').on(table.day),
  ],
)

/** For `onConflictDoUpdate` of a tool's day. */
export const addedToolSums = {
  calls: sql`${toolDays.calls} + excluded.calls`,
  successes: sql`${toolDays.successes} + excluded.successes`,
  timedCalls: sql`${toolDays.timedCalls} + excluded.timed_calls`,
  durationMs: sql`${toolDays.durationMs} + excluded.duration_ms`,
}

/** Usage alerts that were sent, so that each share is reported once a month. */
export const usageAlerts = sqliteTable(
  'usage_alerts',
  {
    subject: text().notNull(),
    month: text().notNull(),
    percent: integer().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.subject, table.month, table.percent] })],
)

/** For `onConflictDoUpdate` of a month. */
export const addedMonthSums = {
  tokens: sql`${usageMonths.tokens} + excluded.tokens`,
  costMicroUsd: sql`${usageMonths.costMicroUsd} + excluded.cost_micro_usd`,
}

/** Model calls that run on the leader of a cluster, as they are recorded when it is lost; one JSON text each. */
export const usageUnderWay = sqliteTable('usage_under_way', {
  generationId: text().primaryKey(),
  event: text().notNull(),
})
