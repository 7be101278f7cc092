import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../registry/tables.ts'

/** Settings of an agent's tools; null when the plan's defaults apply. */
export type RecordedTools = {
  profile: string | null
  switches: Record<string, boolean>
  httpHosts: string[]
  modelTurns: number
  toolCalls: number
  microUsdPerTurn: number | null
}

/**
 * Configurations of an agent in the order of `number`; old ones are deleted. `author` is a user's id, `operator`,
 * `platform` or `watchdog`. `restoredFrom` is the number of the revision that this one restores. `healthyAt` is when
 * the agent was last known to run healthy with it. `image` is null for process agents; `instructions` is null while
 * no change of the platform is known.
 */
export const agentRevisions = sqliteTable(
  'agent_revisions',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    number: integer().notNull(),
    author: text().notNull(),
    restoredFrom: integer(),
    model: text().notNull(),
    aiProvider: text().notNull(),
    plan: text().notNull(),
    config: text().notNull(),
    sealedSecrets: text(),
    tools: text({ mode: 'json' }).$type<RecordedTools>(),
    instructions: text(),
    image: text(),
    runtimeVersion: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    healthyAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.number] })],
)
export type RevisionRow = typeof agentRevisions.$inferSelect
