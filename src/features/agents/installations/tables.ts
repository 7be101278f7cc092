import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../registry/tables.ts'
import { MODES, STATUSES } from './schemas.ts'

/**
 * Machines that registered for a user, distinguished by `name`; clients without a name share the empty one. The
 * operator may register any `userId`; `ownerId` is the account with that id, if one exists. `gatewayToken` is encrypted
 * for its row. A machine with a tunnel has an agent and a `version`; `offlineAt` is set while the tunnel is down, and
 * `isOfflineNoticed` after its owner was notified of that.
 */
export const installations = sqliteTable(
  'installations',
  {
    id: text().primaryKey(),
    userId: text().notNull(),
    ownerId: text().references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    mode: text({ enum: MODES }).notNull(),
    gatewayUrl: text(),
    gatewayToken: text(),
    agentId: text().references(() => agents.id, { onDelete: 'cascade' }),
    version: text(),
    offlineAt: integer({ mode: 'timestamp_ms' }),
    isOfflineNoticed: integer({ mode: 'boolean' }).notNull().default(false),
    status: text({ enum: STATUSES }).notNull(),
    registeredAt: integer({ mode: 'timestamp_ms' }).notNull(),
    lastSeenAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    unique('installations_of_user').on(table.userId, table.name),
    index('installations_by_owner').on(table.ownerId),
    index('installations_by_agent').on(table.agentId),
    index('installations_by_activity').on(table.status, table.lastSeenAt),
    oneOf('installations_mode', table.mode, MODES),
    oneOf('installations_status', table.status, STATUSES),
  ],
)
export type InstallationRow = typeof installations.$inferSelect

/** One-time codes that a machine exchanges for its credentials. `codeHash` is a keyed hash. */
export const pairingCodes = sqliteTable(
  'pairing_codes',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    codeHash: text().notNull().unique(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
    usedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('pairing_codes_by_user').on(table.userId, table.expiresAt),
    index('pairing_codes_by_expiry').on(table.expiresAt),
  ],
)
