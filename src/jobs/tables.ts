import { isNotNull } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../db/checks.ts'

const STATUSES = ['queued', 'running', 'done', 'dead'] as const

/**
 * Durable jobs. Jobs with the same `key` run one after another, and at most one of them is queued; finished jobs have
 * no key. `share` is the owner of slow work, so no user occupies all slots.
 */
export const jobs = sqliteTable(
  'jobs',
  {
    id: text().primaryKey(),
    kind: text().notNull(),
    key: text(),
    share: text().notNull().default(''),
    payload: text({ mode: 'json' }).notNull(),
    status: text({ enum: STATUSES }).notNull(),
    attempts: integer().notNull().default(0),
    runAt: integer({ mode: 'timestamp_ms' }).notNull(),
    leaseToken: text(),
    leaseUntil: integer({ mode: 'timestamp_ms' }),
    lastError: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('jobs_due').on(table.status, table.runAt),
    uniqueIndex('jobs_unfinished_key').on(table.key, table.status).where(isNotNull(table.key)),
    oneOf('jobs_status', table.status, STATUSES),
  ],
)
