import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../../accounts/users/tables.ts'

/**
 * One row per stored response of the Responses API. `input` is a JSON array of the items that the caller added to the
 * conversation of `previousId`, and `response` the JSON of the response object. `usedAt` is the last use in a
 * conversation.
 */
export const storedResponses = sqliteTable(
  'stored_responses',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    previousId: text(),
    input: text().notNull(),
    response: text().notNull(),
    sizeBytes: integer().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    usedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('stored_responses_by_user').on(table.userId, table.usedAt, table.sizeBytes),
    index('stored_responses_by_use').on(table.usedAt),
  ],
)

/** The ids of the output items of stored responses, which clients send in place of the items. */
export const storedResponseItems = sqliteTable(
  'stored_response_items',
  {
    itemId: text().notNull(),
    responseId: text()
      .notNull()
      .references(() => storedResponses.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.itemId, table.responseId] }),
    index('stored_response_items_by_response').on(table.responseId),
  ],
)

export type StoredResponseRow = typeof storedResponses.$inferSelect
