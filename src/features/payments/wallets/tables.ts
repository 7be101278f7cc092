import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

const WALLET_KINDS = ['user', 'agent'] as const
const PAYMENT_KINDS = ['transfer', 'upstream', 'authorization'] as const

/**
 * `created`: nothing was sent. `sent`: it may have left. `unknown`: the outcome is not known. `awaiting_approval`
 * precedes `created`, `denied` replaces it.
 */
const PAYMENT_STATUSES = ['awaiting_approval', 'created', 'sent', 'succeeded', 'failed', 'unknown', 'denied'] as const

/**
 * Managed wallets with sealed keys: one per user and one per agent, with the same address on every chain. A wallet
 * outlives its agent and owner, because it may hold money; `stead wallet export` still opens it.
 * Limits are micro-dollars, null is unlimited. `recipients` restricts payees (lower case) unless null. Payments above
 * `approvalAboveMicroUsd` need approval. Nothing leaves while `frozenAt` is set.
 */
export const managedWallets = sqliteTable(
  'managed_wallets',
  {
    id: text().primaryKey(),
    kind: text({ enum: WALLET_KINDS }).notNull(),
    userId: text().references(() => users.id, { onDelete: 'set null' }),
    agentId: text().references(() => agents.id, { onDelete: 'set null' }),
    address: text().notNull().unique(),
    sealedKey: text().notNull(),
    perPaymentMicroUsd: integer(),
    perDayMicroUsd: integer(),
    perMonthMicroUsd: integer(),
    approvalAboveMicroUsd: integer(),
    recipients: text({ mode: 'json' }).$type<string[]>(),
    frozenAt: integer({ mode: 'timestamp_ms' }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    uniqueIndex('managed_wallets_of_agent').on(table.agentId),
    uniqueIndex('managed_wallets_of_user').on(table.userId).where(sql`kind = 'user'`),
    index('managed_wallets_by_user').on(table.userId),
    oneOf('managed_wallets_kind', table.kind, WALLET_KINDS),
    check('managed_wallets_lower_case', sql`${table.address} = lower(${table.address})`),
  ],
)
export type WalletRow = typeof managedWallets.$inferSelect

/**
 * One row per payment, written before anything is sent. `reference` is the caller's unique name for it. `transfer` is a
 * transaction of the platform, `authorization` a signature that a seller redeems (EIP-3009), `upstream` an order to an
 * external gateway. `rawTransaction` is kept until the payment is final, so a crash resends the same one. `undoneAt` is
 * when a reorganization reverted its block. With `keepsTrying` it waits for an unreachable chain; others fail then,
 * because their caller got an error. `finalAt` is when the outcome was certain; until then `checkAt` is the next check.
 */
export const walletPayments = sqliteTable(
  'wallet_payments',
  {
    id: text().primaryKey(),
    walletId: text().references(() => managedWallets.id, { onDelete: 'set null' }),
    userId: text().references(() => users.id, { onDelete: 'cascade' }),
    agentId: text().references(() => agents.id, { onDelete: 'set null' }),
    kind: text({ enum: PAYMENT_KINDS }).notNull(),
    purpose: text().notNull(),
    reference: text().notNull().unique(),
    requestHash: text(),
    currency: text().notNull(),
    chainId: integer(),
    recipient: text().notNull(),
    amountMicroUsd: integer().notNull(),
    status: text({ enum: PAYMENT_STATUSES }).notNull(),
    reason: text(),
    keepsTrying: integer({ mode: 'boolean' }).notNull().default(false),
    approvalExpiresAt: integer({ mode: 'timestamp_ms' }),
    decidedBy: text(),
    fromAddress: text(),
    nonce: integer(),
    rawTransaction: text(),
    transactionHash: text(),
    blockNumber: integer(),
    blockHash: text(),
    undoneAt: integer({ mode: 'timestamp_ms' }),
    detail: text({ mode: 'json' }).$type<Record<string, unknown>>().notNull().default({}),
    checkAt: integer({ mode: 'timestamp_ms' }),
    checks: integer().notNull().default(0),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    sentAt: integer({ mode: 'timestamp_ms' }),
    settledAt: integer({ mode: 'timestamp_ms' }),
    finalAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    // A second transaction with the same nonce would replace the first.
    uniqueIndex('wallet_payments_nonce').on(table.chainId, table.fromAddress, table.nonce),
    index('wallet_payments_by_wallet').on(table.walletId, table.createdAt, table.status, table.amountMicroUsd),
    index('wallet_payments_by_user').on(table.userId, table.createdAt),
    index('wallet_payments_by_agent').on(table.agentId),
    index('wallet_payments_by_check').on(table.checkAt),
    oneOf('wallet_payments_kind', table.kind, PAYMENT_KINDS),
    oneOf('wallet_payments_status', table.status, PAYMENT_STATUSES),
    check('wallet_payments_positive', sql`${table.amountMicroUsd} > 0`),
  ],
)
export type PaymentRow = typeof walletPayments.$inferSelect
export type PaymentStatus = PaymentRow['status']
