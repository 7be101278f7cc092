import { stringify } from 'csv-stringify/sync'
import type { Db } from '../../../db/open.ts'
import { linesInPages } from './list.ts'

const COLUMNS = ['created_at', 'entry', 'account', 'currency', 'amount', 'balance', 'memo']
const CSV = { record_delimiter: '\r\n' } as const

/**
 * A user's lines as CSV (RFC 4180), account by account, oldest first, a page at a time. Never a formula to a spreadsheet: the
 * amounts are numbers, which a leading minus leaves them, and the memo is quoted as text.
 */
export function* exportLedgerCsv(db: Db, userId: string): Generator<string, void> {
  yield stringify([COLUMNS], CSV)
  for (const lines of linesInPages(db, userId)) {
    yield stringify(
      lines.map((line) => [
        line.createdAt,
        line.entry,
        line.account,
        line.currency,
        line.amount,
        line.balance,
        quoteFormula(line.memo),
      ]),
      CSV,
    )
  }
}

function quoteFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
}
