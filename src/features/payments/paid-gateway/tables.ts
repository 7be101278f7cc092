import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Authorization } from '../../../adapters/payments/settler.ts'
import { oneOf } from '../../../db/checks.ts'
import { LEDGER_CURRENCIES } from '../ledger/accounts.ts'

const METHODS = ['credits', 'mpp', 'x402'] as const
const STATES = ['settling', 'settled', 'working', 'served', 'refunded'] as const

/**
 * One row per payment for work of the gateway. `id` of one on chain is payer and nonce, so that a signature pays once.
 * `settling`: it may be on its way to the chain; `settled`: it is there and nothing was done for it yet; `working`: one
 * request is at it. Amounts are millionths of `currency`. `reference` is the transaction; while `settling`, the one that is
 * stored in `rawTransaction` before it is sent, and that cannot have been on the chain before `sinceBlock`.
 * `authorization` is what the payer signed. `checkAt` is when the chain is asked about it next. `requestHash` is of the
 * request that it was shown with first: from the chain anybody can read the signature, but not what was asked for with it.
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
    authorization: text({ mode: 'json' }).$type<Authorization>(),
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
