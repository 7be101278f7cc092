import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Prices that administrators set, one row per model id, in US dollars per million tokens. */
export const modelPrices = sqliteTable('model_prices', {
  model: text().primaryKey(),
  inputUsdPerMillion: real().notNull(),
  outputUsdPerMillion: real().notNull(),
  /** Null: cached input costs as much as fresh input. */
  cachedInputUsdPerMillion: real(),
  updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
})
export type ModelPriceRow = typeof modelPrices.$inferSelect
