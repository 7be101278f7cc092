import { sql } from 'drizzle-orm'
import { check, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { managedWallets, walletPayments } from '../wallets/tables.ts'

/** The last three states are final. */
const SPLIT_STATES = ['queued', 'processing', 'settled', 'partially_settled', 'failed'] as const

/**
 * An amount in USDC that a wallet pays out to recipients. `userId` and `agentId` are as requested; `ownerId` is the
 * user if it exists here. `reason` says why it waits or failed. A held split waits for execution. `checkAt` is the time
 * of the next check, null when all payments are final.
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
 * Share of one recipient. The amounts of a split add up to its total. A part of zero or below the recipient's minimum
 * `isSkipped`. `failure` says why no payment could be ordered.
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

/** A user's rules for instant splits. `minimumMicroUsd` is the smallest amount sent to the recipient. */
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
 * Wallets that the operator created for users and agents of other platforms, by their names there. No new ones are
 * created; the existing ones still pay splits.
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
