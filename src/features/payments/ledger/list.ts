import { stringify } from 'csv-stringify/sync'
import { and, asc, desc, eq, gt, lt, lte, max, type SQL } from 'drizzle-orm'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import type { LedgerLine, LedgerPage } from './schemas.ts'
import { ledgerAccounts, ledgerEntries, ledgerLines } from './tables.ts'

/** Lines per read of an export. */
const PAGE = 200

type AccountRow = typeof ledgerAccounts.$inferSelect
type Found = Pick<typeof ledgerLines.$inferSelect, 'entryId' | 'amount' | 'balanceAfter'> &
  Pick<typeof ledgerEntries.$inferSelect, 'memo' | 'createdAt'>

/** Lists the lines on a user's accounts before entry `before`, newest first, with the current balances. */
export function listLedger(
  db: Db,
  userId: string,
  { before = Number.MAX_SAFE_INTEGER, limit }: { before?: number | undefined; limit: number },
): LedgerPage {
  const accounts = listAccounts(db, userId)
  const found = accounts.flatMap((account) => {
    const isBefore = and(eq(ledgerLines.accountId, account.id), lt(ledgerLines.entryId, before))
    return selectLines(db, isBefore, desc(ledgerLines.entryId), limit + 1).map((line) => ({ account, line }))
  })
  const newestFirst = found.sort((a, b) => b.line.entryId - a.line.entryId)
  // The lines of an entry stay on one page: the next page starts before it.
  const last = newestFirst[limit - 1]?.line.entryId ?? 0
  const shown = newestFirst.filter(({ line }) => line.entryId >= last)
  return {
    balances: accounts.map(({ kind, currency, balance }) => ({ kind, currency, balance: formatMicroUsd(balance, 2) })),
    lines: shown.map(({ account, line }) => toLedgerLine(account, line)),
    next: shown.length < newestFirst.length ? last : null,
  }
}

/** Yields all current lines of a user's accounts in pages, account by account, oldest first. */
export function* linesInPages(db: Db, userId: string): Generator<LedgerLine[], void> {
  const newest = readNewestEntry(db)
  for (const account of listAccounts(db, userId)) {
    for (let after = 0; ; ) {
      const isOfAccount = eq(ledgerLines.accountId, account.id)
      const isNext = and(isOfAccount, gt(ledgerLines.entryId, after), lte(ledgerLines.entryId, newest))
      const lines = selectLines(db, isNext, asc(ledgerLines.entryId), PAGE)
      const last = lines.at(-1)
      if (!last) break
      yield lines.map((line) => toLedgerLine(account, line))
      after = last.entryId
    }
  }
}

function readNewestEntry(db: Db): number {
  const newest = db.select({ id: max(ledgerEntries.id) }).from(ledgerEntries)
  return newest.get()?.id ?? 0
}

function listAccounts(db: Db, userId: string): AccountRow[] {
  return userId === '' ? [] : db.select().from(ledgerAccounts).where(eq(ledgerAccounts.ownerId, userId)).all()
}

function selectLines(db: Db, condition: SQL | undefined, order: SQL, limit: number): Found[] {
  const { entryId, amount, balanceAfter } = ledgerLines
  const { memo, createdAt } = ledgerEntries
  return db
    .select({ entryId, amount, balanceAfter, memo, createdAt })
    .from(ledgerLines)
    .innerJoin(ledgerEntries, eq(ledgerEntries.id, entryId))
    .where(condition)
    .orderBy(order)
    .limit(limit)
    .all()
}

function toLedgerLine({ kind, currency }: AccountRow, line: Found): LedgerLine {
  return {
    entry: line.entryId,
    createdAt: line.createdAt.toISOString(),
    account: kind,
    currency,
    amount: formatMicroUsd(line.amount, 2),
    balance: formatMicroUsd(line.balanceAfter, 2),
    memo: line.memo,
  }
}

const COLUMNS = ['created_at', 'entry', 'account', 'currency', 'amount', 'balance', 'memo']
const CSV = { record_delimiter: '\r\n' } as const

/**
 * Yields a user's lines as CSV (RFC 4180), account by account, oldest first. Memos are quoted so that spreadsheets do
 * not run them as formulas.
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
