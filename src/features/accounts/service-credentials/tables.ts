import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Credentials that an administrator entered for an external service; `name` is `mail` or a model provider. */
export const serviceCredentials = sqliteTable('service_credentials', {
  name: text().primaryKey(),
  sealedValue: text().notNull(),
  updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
})
