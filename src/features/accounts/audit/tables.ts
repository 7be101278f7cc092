import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Append-only audit log. `actor` is a user's id, `cli` or `system`; `detail` never holds a secret. `requestId` is null
 * for actions without a request.
 */
export const auditLog = sqliteTable(
  'audit_log',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    actor: text().notNull(),
    action: text().notNull(),
    target: text().notNull(),
    detail: text({ mode: 'json' }).notNull().default({}),
    address: text(),
    requestId: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('audit_log_by_actor').on(table.actor),
    index('audit_log_by_target').on(table.target),
    index('audit_log_by_time').on(table.createdAt),
  ],
)
