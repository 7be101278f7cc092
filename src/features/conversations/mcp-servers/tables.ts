import { integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { agents } from '../../agents/registry/tables.ts'

/**
 * MCP servers of an agent. The platform calls those with a `url`; the agent starts those with a `command` (with an
 * empty `url`). `sealedHeaders` is sealed JSON: the headers for a `url`, or the environment for a `command`; null for
 * none. The agent sees the tools in `allowedTools`, null for all. Tools in `trustedTools` need no approval; null trusts
 * those that the server marks read-only.
 */
export const agentMcpServers = sqliteTable(
  'agent_mcp_servers',
  {
    id: text().primaryKey(),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    url: text().notNull(),
    command: text(),
    args: text({ mode: 'json' }).$type<string[]>().notNull().default([]),
    sealedHeaders: text(),
    allowedTools: text({ mode: 'json' }).$type<string[]>(),
    trustedTools: text({ mode: 'json' }).$type<string[]>(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [uniqueIndex('agent_mcp_servers_by_name').on(table.agentId, table.name)],
)
export type McpServerRow = typeof agentMcpServers.$inferSelect
