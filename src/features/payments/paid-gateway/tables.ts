import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { TransferAuthorization } from '../../../adapters/payments/settler.ts'
import { oneOf } from '../../../db/checks.ts'
import { LEDGER_CURRENCIES } from '../ledger/accounts.ts'

const METHODS = ['credits', 'mpp', 'x402'] as const
const STATES = ['settling', 'settled', 'working', 'served', 'refunded'] as const

/**
 * One row per payment for gateway work. On-chain payments use payer and nonce as `id`, so a signature pays once.
 * `settling`: the transaction may be on its way; `settled`: it is on the chain and unused; `working`: one request uses
 * it. Amounts are millionths of `currency`. `reference` is the transaction hash; while `settling`, the hash of
 * `rawTransaction`, which is stored before sending and cannot have been mined before `sinceBlock`. `authorization` is
 * the payer's signature, `checkAt` the time of the next check. `requestHash` binds the signature, which is public on
 * the chain, to its first request.
 */
export const gatewayPayments = sqliteTable(
  'gateway_payments',
  {
    id: text().primaryKey(),
    userId: text(),
    plugin: text().notNull(),
    what: text(),
    requestHash: text(),
    method: text({ enum: METHODS }).notNull(),
    amountMicros: integer().notNull(),
    currency: text({ enum: LEDGER_CURRENCIES }).notNull(),
    payer: text(),
    reference: text(),
    authorization: text({ mode: 'json' }).$type<TransferAuthorization>(),
    rawTransaction: text(),
    sinceBlock: integer(),
    checks: integer().notNull().default(0),
    checkAt: integer({ mode: 'timestamp_ms' }),
    state: text({ enum: STATES }).notNull(),
    changedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('gateway_payments_by_user').on(table.userId),
    index('gateway_payments_by_state').on(table.state, table.changedAt),
    oneOf('gateway_payments_method', table.method, METHODS),
    oneOf('gateway_payments_state', table.state, STATES),
    oneOf('gateway_payments_currency', table.currency, LEDGER_CURRENCIES),
  ],
)
export type GatewayPaymentRow = typeof gatewayPayments.$inferSelect
