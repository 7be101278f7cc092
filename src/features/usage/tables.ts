import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** One row per completion, failed ones included (Spec 2, Usage log). No foreign keys: the record outlives user and agent. */
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
    endpoint: text(),
    latencyMs: integer(),
    success: integer({ mode: 'boolean' }).notNull().default(true),
    errorMessage: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('usage_logs_by_user').on(table.userId, table.createdAt)],
)

/** Sums of a day (UTC): dashboards read these, so their cost does not grow with history. */
export const usageDays = sqliteTable(
  'usage_days',
  {
    userId: text().notNull(),
    day: text().notNull(),
    agentId: text().notNull(),
    model: text().notNull(),
    inputTokens: integer().notNull(),
    outputTokens: integer().notNull(),
    costMicroUsd: integer().notNull(),
    calls: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.day, table.agentId, table.model] })],
)

/** For `onConflictDoUpdate` of a day: what was there and what comes, added. */
export const addedDaySums = {
  inputTokens: sql`${usageDays.inputTokens} + excluded.input_tokens`,
  outputTokens: sql`${usageDays.outputTokens} + excluded.output_tokens`,
  costMicroUsd: sql`${usageDays.costMicroUsd} + excluded.cost_micro_usd`,
  calls: sql`${usageDays.calls} + excluded.calls`,
}

/** Tokens of a month (UTC), one row per user: what the quota is checked against. */
export const usageMonths = sqliteTable(
  'usage_months',
  { userId: text().notNull(), month: text().notNull(), tokens: integer().notNull() },
  (table) => [primaryKey({ columns: [table.userId, table.month] })],
)

/** For `onConflictDoUpdate` of a month. */
export const addedMonthSums = { tokens: sql`${usageMonths.tokens} + excluded.tokens` }
