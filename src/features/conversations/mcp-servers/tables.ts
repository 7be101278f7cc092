import { integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { agents } from '../../agents/registry/tables.ts'

/**
 * MCP servers that an agent may use: those with a `url` are reached by the platform; those with a `command`, whose `url` is
 * empty, the agent starts itself, with `args`. `sealedHeaders` is JSON, sealed, null for none: the headers that a server is
 * shown, or the environment that its command is given. Of its tools those in `allowedTools` are shown to the agent, all
 * where it is null; those in `trustedTools` need no approval, where it is null those that their server marks read-only.
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
