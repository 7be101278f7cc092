import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Invite codes by hash; each is valid once. `createdBy` is a user's id, `operator` or `cli`. */
export const invites = sqliteTable(
  'invites',
  {
    codeHash: text().primaryKey(),
    createdBy: text().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    usedAt: integer({ mode: 'timestamp_ms' }),
    /** The plan of the new account; null for the default plan. */
    plan: text(),
  },
  (table) => [
    index('invites_by_creator').on(table.createdBy),
    index('invites_by_time').on(table.createdAt, table.codeHash),
  ],
)
export type InviteRow = typeof invites.$inferSelect
