import { isNotNull } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../db/checks.ts'

const STATUSES = ['queued', 'running', 'done', 'dead'] as const

/**
 * Work that must survive. Jobs with the same `key` run one after another, and only one of them waits: asking twice for
 * the same work makes one job, unless the first is under way already. A finished job has no key. `share` is whose slow work
 * it is, so that nobody takes the places of all.
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
