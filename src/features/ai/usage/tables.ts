import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** The agent of calls that no agent made. */
export const DIRECT = 'direct'

/**
 * One row per completion, failed ones included (Interface 2, Usage log). No foreign keys: the record outlives user and agent.
 * `generationId` is the caller's name for the call and keeps it from being written twice; null in rows of earlier versions.
 */
export const usageLogs = sqliteTable(
  'usage_logs',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    userId: text().notNull(),
    agentId: text().notNull(),
    model: text().notNull(),
    inputTokens: integer().notNull().default(0),
    outputTokens: integer().notNull().default(0),
    costMicroUsd: integer().notNull().default(0),
    /** The cost is not known: the model has no price and the provider reported none. `costMicroUsd` is 0 then. */
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
    /** Nobody reported what was used (decisions, 46). */
    estimated: integer({ mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    index('usage_logs_by_user').on(table.userId, table.createdAt),
    index('usage_logs_by_time').on(table.createdAt),
  ],
)

/** Sums of a day (UTC): dashboards read these, so their cost does not grow with history. */
export const usageDays = sqliteTable(
  'usage_days',
  {
    userId: text().notNull(),
    day: text().notNull(),
    agentId: text().notNull(),
    model: text().notNull(),
    provider: text().notNull().default(''),
    inputTokens: integer().notNull(),
    outputTokens: integer().notNull(),
    costMicroUsd: integer().notNull(),
    calls: integer().notNull(),
    /** Calls whose cost is not known and therefore missing from `costMicroUsd`. */
    unpricedCalls: integer().notNull().default(0),
    /** Cost of calls that users paid to the provider themselves, a part of `costMicroUsd`. */
    ownKeyCostMicroUsd: integer().notNull().default(0),
    /** The part of tokens and cost that nobody reported. */
    estimatedTokens: integer().notNull().default(0),
    estimatedCostMicroUsd: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.day, table.agentId, table.model, table.provider] }),
    index('usage_days_by_day').on(table.day),
  ],
)

/** For `onConflictDoUpdate` of a day: what was there and what comes, added. */
export const addedDaySums = {
  inputTokens: sql`${usageDays.inputTokens} + excluded.input_tokens`,
  outputTokens: sql`${usageDays.outputTokens} + excluded.output_tokens`,
  costMicroUsd: sql`${usageDays.costMicroUsd} + excluded.cost_micro_usd`,
  calls: sql`${usageDays.calls} + excluded.calls`,
  unpricedCalls: sql`${usageDays.unpricedCalls} + excluded.unpriced_calls`,
  ownKeyCostMicroUsd: sql`${usageDays.ownKeyCostMicroUsd} + excluded.own_key_cost_micro_usd`,
  estimatedTokens: sql`${usageDays.estimatedTokens} + excluded.estimated_tokens`,
  estimatedCostMicroUsd: sql`${usageDays.estimatedCostMicroUsd} + excluded.estimated_cost_micro_usd`,
}

/** Tokens and cost of a month (UTC), one row per user: what the quota is checked against. Calls by users' own keys are left out. */
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

/** What a key has used in a month (UTC): what its own limits are checked against. */
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

/** What a key has used of a model on a day (UTC): a part of what stands in `usage_days` under no agent. */
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

/** One use of a tool by an agent, as the agent tells it (Interface 2, Tool event). `userId` is the agent's owner. */
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

/** Uses of a tool on a day (UTC), which stay when the events themselves are forgotten. `agentId` is empty where none is known. */
export const toolDays = sqliteTable(
  'tool_days',
  {
    userId: text().notNull(),
    day: text().notNull(),
    agentId: text().notNull(),
    toolName: text().notNull(),
    calls: integer().notNull(),
    successes: integer().notNull(),
    /** Of the calls that said how long they took. */
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

/** Which shares of a month's limit somebody was already told of, so that each is told once. */
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
