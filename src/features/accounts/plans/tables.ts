import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'

const SOURCES = ['file', 'dashboard'] as const

/**
 * One row per plan of the operator. A limit of null does not apply. `source` is `file` while the row equals
 * `PLANS_FILE`, `dashboard` once an administrator created or changed it.
 */
export const plans = sqliteTable(
  'plans',
  {
    name: text().primaryKey(),
    models: text({ mode: 'json' }).$type<string[]>(),
    agents: integer(),
    skills: integer(),
    messagesPerDay: integer(),
    tokensPerMonth: integer(),
    usdPerMonth: real(),
    storageGb: real().notNull(),
    source: text({ enum: SOURCES }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [oneOf('plans_source', table.source, SOURCES)],
)
export type PlanRow = typeof plans.$inferSelect
