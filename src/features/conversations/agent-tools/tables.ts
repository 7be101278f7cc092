import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { TOOL_PROFILES } from '../../../core/agents/agent-tools.ts'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

/**
 * Tool settings of an agent. Without a row, or with `profile` null, the plan's profile applies. `switches` enable or
 * disable single tools. `httpHosts` are the hosts for `http_request`; a leading `*.` matches all subdomains.
 * `microUsdPerTurn` null means no cost limit. `acceptedNotIsolatedAt`: when the owner accepted that commands run without
 * isolation.
 */
export const agentToolSettings = sqliteTable(
  'agent_tool_settings',
  {
    agentId: text()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    profile: text({ enum: TOOL_PROFILES }),
    switches: text({ mode: 'json' }).$type<Record<string, boolean>>().notNull(),
    httpHosts: text({ mode: 'json' }).$type<string[]>().notNull().default([]),
    modelTurns: integer().notNull(),
    toolCalls: integer().notNull(),
    microUsdPerTurn: integer(),
    acceptedNotIsolatedAt: integer({ mode: 'timestamp_ms' }),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [oneOf('agent_tool_settings_profile', table.profile, TOOL_PROFILES)],
)
export type ToolSettingsRow = typeof agentToolSettings.$inferSelect
