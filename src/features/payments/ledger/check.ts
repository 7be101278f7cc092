import { type SQL, sql } from 'drizzle-orm'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { HOLDING_KINDS, MICRO_USD_PER_CREDIT } from './accounts.ts'

/** Maximum number of faults reported per rule. */
const NAMED = 20
const HOLDING = sql.raw(HOLDING_KINDS.map((kind) => `'${kind}'`).join(', '))

export type LedgerReport = { entries: number; lines: number; accounts: number; faults: string[] }

type Fault = { subject: string; is: number; should: number }
type Rule = { find: SQL; describeFault(fault: Fault): string }

/** Each query is one statement, so a concurrent posting is in both sums or in neither. */
const RULES: readonly Rule[] = [
  {
    find: sql`SELECT e.cause || ' (' || a.currency || ')' AS subject, sum(l.amount) AS "is", 0 AS should
      FROM ledger_lines l JOIN ledger_entries e ON e.id = l.entry_id JOIN ledger_accounts a ON a.id = l.account_id
      GROUP BY l.entry_id, a.currency HAVING sum(l.amount) <> 0`,
    describeFault: ({ subject, is }) => `entry ${subject}: its lines are ${formatMicroUsd(is, 2)} apart`,
  },
  {
    find: sql`SELECT e.cause AS subject, 0 AS "is", 0 AS should FROM ledger_entries e
      WHERE NOT EXISTS (SELECT 1 FROM ledger_lines l WHERE l.entry_id = e.id)`,
    describeFault: ({ subject }) => `entry ${subject}: it has no lines`,
  },
  {
    find: sql`SELECT a.kind || ' ' || a.owner_id || ' (' || a.currency || ')' AS subject, a.balance AS "is",
        coalesce((SELECT sum(l.amount) FROM ledger_lines l WHERE l.account_id = a.id), 0) AS should
      FROM ledger_accounts a WHERE "is" <> should`,
    describeFault: ({ subject, is, should }) =>
      `account ${subject}: the balance is ${formatMicroUsd(is, 2)}, its lines add up to ${formatMicroUsd(should, 2)}`,
  },
  {
    find: sql`SELECT subject, "is", should FROM (
        SELECT e.cause AS subject, l.balance_after AS "is",
          sum(l.amount) OVER (PARTITION BY l.account_id ORDER BY l.entry_id) AS should
        FROM ledger_lines l JOIN ledger_entries e ON e.id = l.entry_id) WHERE "is" <> should`,
    describeFault: ({ subject, is, should }) =>
      `entry ${subject}: it says ${formatMicroUsd(is, 2)} was there afterwards, it was ${formatMicroUsd(should, 2)}`,
  },
  {
    find: sql`SELECT a.kind || ' ' || a.owner_id || ' (' || a.currency || ')' AS subject, a.balance AS "is", 0 AS should
      FROM ledger_accounts a WHERE a.balance < 0 AND a.kind IN (${HOLDING})`,
    describeFault: ({ subject, is }) => `account ${subject}: it holds money and is at ${formatMicroUsd(is, 2)}`,
  },
  {
    find: sql`SELECT u.id AS subject, u.credits AS "is",
        coalesce((SELECT a.balance FROM ledger_accounts a
          WHERE a.kind = 'credits' AND a.owner_id = u.id AND a.currency = 'USD'), 0) / ${sql.raw(String(MICRO_USD_PER_CREDIT))} AS should
      FROM users u WHERE "is" <> should`,
    describeFault: ({ subject, is, should }) => `user ${subject}: is shown ${is} credits, the ledger says ${should}`,
  },
  {
    find: sql`SELECT p.id || ' (' || p.status || ')' AS subject,
        iif(p.status = 'succeeded', -p.amount_micro_usd, 0) AS should,
        coalesce((SELECT sum(l.amount) FROM ledger_entries e JOIN ledger_lines l ON l.entry_id = e.id
          JOIN ledger_accounts a ON a.id = l.account_id AND a.kind = 'wallets' AND a.currency = p.currency
          WHERE e.cause > 'wallet:' || p.id || ':' AND e.cause < 'wallet:' || p.id || ';'), 0) AS "is"
      FROM wallet_payments p WHERE p.kind <> 'upstream' AND "is" <> should`,
    describeFault: ({ subject, is, should }) =>
      `payment ${subject}: moved ${formatMicroUsd(should, 2)} in its wallet, the ledger says ${formatMicroUsd(is, 2)}`,
  },
  {
    find: sql`SELECT g.id || ' (' || g.state || ')' AS subject, iif(g.state IN ('settled', 'working'), g.amount_micros, 0) AS should,
        coalesce((SELECT a.balance FROM ledger_accounts a WHERE a.kind = 'escrow' AND a.owner_id = 'gateway:' || g.id
          AND a.currency = g.currency), 0) AS "is"
      FROM gateway_payments g WHERE "is" <> should`,
    describeFault: ({ subject, is, should }) =>
      `paid call ${subject}: ${formatMicroUsd(should, 2)} is to be held for it, ${formatMicroUsd(is, 2)} is`,
  },
]

/**
 * Verifies the ledger: entries balance, balances equal the sums of their lines, lines follow each other, holding
 * accounts are not negative, users' credits equal their balance, and wallet payments and paid calls match their
 * postings.
 */
export function checkLedger(db: Db): LedgerReport {
  const count = (table: string) => db.select({ rows: sql<number>`count(*)` }).from(sql.raw(table)).get()?.rows ?? 0
  return {
    entries: count('ledger_entries'),
    lines: count('ledger_lines'),
    accounts: count('ledger_accounts'),
    faults: RULES.flatMap(({ find, describeFault }) => selectFaults(db, find).map(describeFault)),
  }
}

function selectFaults(db: Db, find: SQL): Fault[] {
  const columns = { subject: sql<string>`subject`, is: sql<number>`"is"`, should: sql<number>`should` }
  return db.select(columns).from(sql`(${find})`).limit(NAMED).all()
}
