import { sql } from 'drizzle-orm'
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import type { KeptFigures } from '../../../db/kept-figures.ts'
import { ACCOUNT_KINDS, HOLDING_KINDS, LEDGER_CURRENCIES, MICRO_USD_PER_CREDIT } from './accounts.ts'

const holding = sql.raw(HOLDING_KINDS.map((kind) => `'${kind}'`).join(', '))

/**
 * One row per ledger account. `balance` is the sum of its lines in millionths of `currency`, never negative for holding
 * accounts. `ownerId` is the user of `credits`, the held item of `escrow`, and empty for the operator. No foreign key:
 * the ledger outlives accounts.
 */
export const ledgerAccounts = sqliteTable(
  'ledger_accounts',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    kind: text({ enum: ACCOUNT_KINDS }).notNull(),
    ownerId: text().notNull(),
    currency: text({ enum: LEDGER_CURRENCIES }).notNull(),
    balance: integer().notNull().default(0),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    uniqueIndex('ledger_accounts_by_name').on(table.kind, table.ownerId, table.currency),
    index('ledger_accounts_by_owner').on(table.ownerId),
    oneOf('ledger_accounts_kind', table.kind, ACCOUNT_KINDS),
    oneOf('ledger_accounts_currency', table.currency, LEDGER_CURRENCIES),
    check('ledger_accounts_hold_what_they_owe', sql`${table.balance} >= 0 OR ${table.kind} NOT IN (${holding})`),
  ],
)

/** One row per event that moved money. `cause` names the event, so it is posted once; `memo` is for people. */
export const ledgerEntries = sqliteTable('ledger_entries', {
  id: integer().primaryKey({ autoIncrement: true }),
  cause: text().notNull().unique(),
  memo: text().notNull(),
  createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
})

/**
 * Change of one account by an entry, in millionths. The lines of an entry add up to zero per currency; `balanceAfter`
 * is the resulting balance. Lines and entries are immutable.
 */
export const ledgerLines = sqliteTable(
  'ledger_lines',
  {
    entryId: integer()
      .notNull()
      .references(() => ledgerEntries.id),
    accountId: integer()
      .notNull()
      .references(() => ledgerAccounts.id),
    amount: integer().notNull(),
    balanceAfter: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.entryId, table.accountId] }),
    index('ledger_lines_by_account').on(table.accountId, table.entryId),
  ],
)

const refuse = (table: string, event: 'UPDATE' | 'DELETE') => ({
  name: `${table}_no_${event.toLowerCase()}`,
  event: `BEFORE ${event} ON ${table}`,
  body: `SELECT RAISE(ABORT, 'What is posted stays: post what undoes it');`,
})

/** Triggers that update users' credits from the ledger and reject changes of posted rows. */
export const LEDGER_FIGURES: KeptFigures = {
  triggers: [
    {
      name: 'ledger_credits',
      event: 'AFTER UPDATE OF balance ON ledger_accounts',
      when: `NEW.kind = 'credits' AND NEW.currency = 'USD'`,
      body: `UPDATE users SET credits = NEW.balance / ${MICRO_USD_PER_CREDIT} WHERE id = NEW.owner_id;`,
    },
    refuse('ledger_entries', 'UPDATE'),
    refuse('ledger_entries', 'DELETE'),
    refuse('ledger_lines', 'UPDATE'),
    refuse('ledger_lines', 'DELETE'),
    refuse('ledger_accounts', 'DELETE'),
  ],
  recount: [
    `UPDATE users SET credits = (SELECT a.balance / ${MICRO_USD_PER_CREDIT} FROM ledger_accounts AS a
      WHERE a.kind = 'credits' AND a.currency = 'USD' AND a.owner_id = users.id)
      WHERE id IN (SELECT owner_id FROM ledger_accounts WHERE kind = 'credits' AND currency = 'USD')`,
  ],
}
