import { sql } from 'drizzle-orm'
import { check, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { managedWallets, walletPayments } from '../wallets/tables.ts'

/** How far a split is (decisions, 21); the last three are its end. */
export const SPLIT_STATES = ['queued', 'processing', 'settled', 'partially_settled', 'failed'] as const

/**
 * An amount in USDC that is divided and paid to its recipients from a wallet. `userId` and `agentId` are as they were named,
 * `ownerId` is the user when there is one here. `reason` is why it waits or what went wrong. One that `isHeld` waits to be
 * executed. `checkAt` is when it is looked at next, null once all of its payments are final.
 */
export const royaltySplits = sqliteTable(
  'royalty_splits',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    ownerId: text().references(() => users.id, { onDelete: 'cascade' }),
    userId: text().notNull(),
    agentId: text().notNull(),
    fromAddress: text().notNull(),
    walletId: text().references(() => managedWallets.id, { onDelete: 'set null' }),
    name: text().notNull(),
    trigger: text().notNull().default('manual'),
    totalMicroUsd: integer().notNull(),
    status: text({ enum: SPLIT_STATES }).notNull(),
    reason: text(),
    isHeld: integer({ mode: 'boolean' }).notNull().default(false),
    checkAt: integer({ mode: 'timestamp_ms' }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    completedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('royalty_splits_by_owner').on(table.ownerId, table.id),
    index('royalty_splits_by_wallet').on(table.walletId),
    index('royalty_splits_by_check').on(table.checkAt),
    oneOf('royalty_splits_status', table.status, SPLIT_STATES),
    check('royalty_splits_positive', sql`${table.totalMicroUsd} > 0`),
  ],
)
export type SplitRow = typeof royaltySplits.$inferSelect

/**
 * What one recipient gets of a split. `shareMillionths` is their percentage in millionths; the amounts of a split add up to its
 * total. A part below `minimumMicroUsd`, and one of nothing, `isSkipped`. `failure` is why no payment could be ordered.
 */
export const royaltyParts = sqliteTable(
  'royalty_parts',
  {
    splitId: integer()
      .notNull()
      .references(() => royaltySplits.id, { onDelete: 'cascade' }),
    position: integer().notNull(),
    address: text().notNull(),
    name: text(),
    shareMillionths: integer().notNull(),
    amountMicroUsd: integer().notNull(),
    isSkipped: integer({ mode: 'boolean' }).notNull(),
    paymentId: text().references(() => walletPayments.id, { onDelete: 'set null' }),
    failure: text(),
  },
  (table) => [
    primaryKey({ columns: [table.splitId, table.position] }),
    index('royalty_parts_by_payment').on(table.paymentId),
    check('royalty_parts_not_negative', sql`${table.amountMicroUsd} >= 0`),
  ],
)
export type PartRow = typeof royaltyParts.$inferSelect

/** How a user divides what they split instantly. `minimumMicroUsd` is the least that is sent to this recipient. */
export const splitRules = sqliteTable(
  'split_rules',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    address: text().notNull(),
    name: text().notNull(),
    role: text().notNull(),
    shareMillionths: integer().notNull(),
    minimumMicroUsd: integer().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('split_rules_by_user').on(table.userId)],
)
export type SplitRuleRow = typeof splitRules.$inferSelect

/**
 * Wallets that the operator created for users and agents of other platforms, by the names they were given. No new ones are
 * created; those that exist still pay splits.
 */
export const operatorWallets = sqliteTable(
  'house_wallets',
  {
    userId: text().notNull(),
    agentId: text().notNull(),
    walletId: text()
      .notNull()
      .references(() => managedWallets.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.agentId] }),
    index('house_wallets_by_wallet').on(table.walletId),
  ],
)
