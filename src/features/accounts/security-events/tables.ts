import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Verified security event tokens by issuer and `jti`. RFC 8417, 2.2: a repeated token is acknowledged and not handled
 * again.
 */
export const securityEvents = sqliteTable(
  'security_events',
  {
    issuer: text().notNull(),
    jti: text().notNull(),
    /** The `events` claim, and for legacy tokens the `sub` claim. */
    claims: text({ mode: 'json' }).notNull(),
    receivedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    handledAt: integer({ mode: 'timestamp_ms' }),
    /** A description of the outcome, as in the audit log. */
    outcome: text(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.jti] }),
    index('security_events_by_time').on(table.receivedAt),
  ],
)
