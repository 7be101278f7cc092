import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

const WALLET_KINDS = ['user', 'agent'] as const
const PAYMENT_KINDS = ['transfer', 'upstream', 'authorization'] as const

/**
 * What becomes of a payment (decisions, 22). `created`: nothing has left yet. `sent`: it may have left. `unknown`: it may
 * have happened, and nobody has said so. `awaiting_approval` and `denied` come before and in place of `created`.
 */
const PAYMENT_STATUSES = ['awaiting_approval', 'created', 'sent', 'succeeded', 'failed', 'unknown', 'denied'] as const

/**
 * A wallet whose key the platform keeps, sealed: one of a user's own, and one for each agent. The same address serves every
 * chain. A wallet outlives its agent and its owner, because there may be money on it; `stead wallet export` still opens it.
 * Limits are micro-dollars, and null does not limit; `recipients` are the only ones it pays, in lower case, unless null;
 * above `approvalAboveMicroUsd` its owner is asked first. Nothing leaves a wallet while `frozenAt` is set.
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
 * One row for each payment, written before anything leaves. `reference` is what its spender calls it: the same one is one
 * payment, whatever happens. `transfer` is our own transaction on a chain, `authorization` a signature with which somebody
 * else moves the money (EIP-3009), `upstream` an order to another gateway. `rawTransaction` is signed and kept until its end
 * is known, so that a crash sends the same one again and never another. `undoneAt` is when the chain took back a block
 * that held it. One that `keepsTrying` waits for a chain that cannot be asked; any other fails then, because whoever
 * ordered it was told so. `finalAt` is when its end was certain; until then `checkAt` is when it is looked at again.
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
    // One transaction for each nonce of an address: a second with the same nonce would take the place of the first.
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
