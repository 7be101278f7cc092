import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** What an administrator has given the house to show to a service; `name` is `mail` or a provider of models. */
export const serviceCredentials = sqliteTable('service_credentials', {
  name: text().primaryKey(),
  sealedValue: text().notNull(),
  updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
})
