import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { TOOL_PROFILES } from '../../../core/agents/agent-tools.ts'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

/**
 * What the owner of an agent has chosen for its tools; no row is the profile of its plan. `profile` null is that too.
 * `switches` turn single tools on or off, against the profile. `httpHosts` are those that
 * `http_request` reaches, `*.` before one means all below it. `microUsdPerTurn` null is no limit.
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
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [oneOf('agent_tool_settings_profile', table.profile, TOOL_PROFILES)],
)
export type ToolSettingsRow = typeof agentToolSettings.$inferSelect
