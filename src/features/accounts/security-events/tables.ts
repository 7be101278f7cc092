import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Every verified security event token, by issuer and `jti`: a repeat is acknowledged and not acted on (RFC 8417, 2.2). */
export const securityEvents = sqliteTable(
  'security_events',
  {
    issuer: text().notNull(),
    jti: text().notNull(),
    /** The `events` claim, and for legacy tokens the `sub` claim. */
    claims: text({ mode: 'json' }).notNull(),
    receivedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    handledAt: integer({ mode: 'timestamp_ms' }),
    /** What was done, in words for the audit log. */
    outcome: text(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.jti] }),
    index('security_events_by_time').on(table.receivedAt),
  ],
)
