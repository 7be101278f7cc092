import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'
import { type CaseResult, TEST_STATES } from './schemas.ts'

/** Injection tests of agents. `results` has one entry per finished case, in the order of the suite. */
export const agentTests = sqliteTable(
  'agent_tests',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    state: text({ enum: TEST_STATES }).notNull(),
    model: text().notNull(),
    results: text({ mode: 'json' }).$type<CaseResult[]>().notNull().default([]),
    error: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('agent_tests_by_agent').on(table.agentId, table.sequence),
    oneOf('agent_tests_state', table.state, TEST_STATES),
  ],
)
export type AgentTestRow = typeof agentTests.$inferSelect
