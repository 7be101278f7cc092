import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../../agents/registry/tables.ts'

/**
 * Credentials with which a workspace pushes to the remotes of one origin (`https://git.example.com`), encrypted and
 * bound to the row. `workspace` is the agent's id, or empty for the workspace that belongs to no agent.
 */
export const gitCredentials = sqliteTable(
  'git_credentials',
  {
    workspace: text().notNull(),
    origin: text().notNull(),
    agentId: text().references(() => agents.id, { onDelete: 'cascade' }),
    username: text().notNull(),
    sealedPassword: text().notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace, table.origin] }),
    index('git_credentials_by_agent').on(table.agentId),
  ],
)
