import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { McpIssuer } from '../../../adapters/mcp/oauth-discovery.ts'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import { AUTHORIZATION_STATUSES } from './schemas.ts'

/**
 * MCP servers of an agent. The platform calls those with a `url`; the agent starts those with a `command` (with an
 * empty `url`). `sealedHeaders` is sealed JSON: the headers for a `url`, or the environment for a `command`; null for
 * none. The agent sees the tools in `allowedTools`, null for all. Tools in `trustedTools` need no approval; null trusts
 * those that the server marks read-only. `toolPins` maps the name of a tool to the fingerprint of its first or last
 * accepted description; a tool with another fingerprint needs approval.
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
    toolPins: text({ mode: 'json' }).$type<Record<string, string>>().notNull().default({}),
    enabled: integer({ mode: 'boolean' }).notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [uniqueIndex('agent_mcp_servers_by_name').on(table.agentId, table.name)],
)
export type McpServerRow = typeof agentMcpServers.$inferSelect

/**
 * The OAuth access of an agent to one of its servers. `sealed` is sealed JSON: the client's credentials and, while
 * `status` is `connected`, its tokens. `issuer` is the validated metadata of the authorization server, null before the
 * first connection. `missingScope` is what the server asked for in addition. `renewingUntil` is set while one node
 * exchanges the refresh token, which many servers accept once.
 */
export const mcpAuthorizations = sqliteTable(
  'mcp_authorizations',
  {
    serverId: text()
      .primaryKey()
      .references(() => agentMcpServers.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    status: text({ enum: AUTHORIZATION_STATUSES }).notNull(),
    issuer: text({ mode: 'json' }).$type<McpIssuer>(),
    resource: text(),
    scope: text(),
    missingScope: text(),
    sealed: text(),
    expiresAt: integer({ mode: 'timestamp_ms' }),
    renewingUntil: integer({ mode: 'timestamp_ms' }),
    connectedAt: integer({ mode: 'timestamp_ms' }),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('mcp_authorizations_by_agent').on(table.agentId),
    oneOf('mcp_authorizations_status', table.status, AUTHORIZATION_STATUSES),
  ],
)
export type McpAuthorizationRow = typeof mcpAuthorizations.$inferSelect

/**
 * A started authorization: single use, ten minutes, bound to the session that started it. `sealed` is sealed JSON: the
 * PKCE verifier and the client's credentials.
 */
export const mcpAuthorizationAttempts = sqliteTable(
  'mcp_authorization_attempts',
  {
    stateHash: text().primaryKey(),
    serverId: text()
      .notNull()
      .references(() => agentMcpServers.id, { onDelete: 'cascade' }),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    sessionHash: text().notNull(),
    issuer: text({ mode: 'json' }).$type<McpIssuer>().notNull(),
    resource: text().notNull(),
    scope: text(),
    sealed: text().notNull(),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('mcp_authorization_attempts_by_server').on(table.serverId),
    index('mcp_authorization_attempts_by_user').on(table.userId),
    index('mcp_authorization_attempts_by_expiry').on(table.expiresAt),
  ],
)
