import { createHash } from 'node:crypto'
import { and, desc, eq, isNull, lt, or, type SQL } from 'drizzle-orm'
import type { Context } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Receipt } from './schemas.ts'
import { type ReceiptRow, receipts } from './tables.ts'

export type NewReceipt = Omit<typeof receipts.$inferInsert, 'id' | 'refundedMicros' | 'refundReason'>

/**
 * Writes the receipt of a payment in the transaction that posts it, once per cause. @returns the new or existing
 * receipt.
 */
export function writeReceipt(tx: Tx, receipt: NewReceipt): ReceiptRow {
  tx.insert(receipts)
    .values({ ...receipt, id: newId('rcp') })
    .onConflictDoNothing({ target: receipts.cause })
    .run()
  return getRow(tx, eq(receipts.cause, receipt.cause))
}

/** Sets the refunded amount; 0 when a refunded payment is used after all. */
export function noteRefund(tx: Tx, id: string, refundedMicros: number, refundReason: string | null): void {
  tx.update(receipts).set({ refundedMicros, refundReason }).where(eq(receipts.id, id)).run()
}

/** Lists a user's receipts before `before`, newest first. */
export function listReceipts(db: Db, userId: string, { before, limit }: { before?: Date | undefined; limit: number }) {
  const rows = db
    .select()
    .from(receipts)
    .where(and(eq(receipts.userId, userId), before && lt(receipts.createdAt, before)))
    .orderBy(desc(receipts.createdAt), desc(receipts.id))
    .limit(limit)
    .all()
  return rows.map(toReceipt)
}

/**
 * Returns a receipt to its owner; the receipt of an anonymous payment to anyone with its id.
 * @throws AppError `not_found`.
 */
export function getReceipt(db: Db, id: string, userId: string | null): Receipt {
  const isTheirs = userId === null ? isNull(receipts.userId) : or(isNull(receipts.userId), eq(receipts.userId, userId))
  return toReceipt(getRow(db, and(eq(receipts.id, id), isTheirs)))
}

function getRow(db: Db, condition: SQL | undefined): ReceiptRow {
  const row = db.select().from(receipts).where(condition).get()
  if (!row) throw new AppError('not_found', 'Receipt not found')
  return row
}

export function toReceipt(row: ReceiptRow): Receipt {
  return {
    id: row.id,
    createdAt: row.createdAt.toISOString(),
    what: row.what,
    method: row.method,
    amount: formatMicroUsd(row.amountMicros, 2),
    currency: row.currency,
    reference: row.reference,
    payer: row.payer,
    refunded: row.refundedMicros === 0 ? null : formatMicroUsd(row.refundedMicros, 2),
    refundedTo: row.refundedMicros === 0 ? null : row.userId === null ? 'payer' : 'credits',
    refundReason: row.refundReason,
  }
}

const STYLE =
  'body{margin:3rem auto;max-width:36rem;padding:0 1.5rem;font:16px/1.5 system-ui,sans-serif;color:#18181b}' +
  'h1{font-size:1.4rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:.4rem 1.5rem}dt{color:#71717a}' +
  'dd{margin:0;overflow-wrap:anywhere}@media print{body{margin:0}}'
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`
const METHODS: Readonly<Record<string, string>> = {
  card: 'Card',
  credits: 'Credits',
  mpp: 'On chain (MPP)',
  x402: 'On chain (x402)',
}

/** Held money is not refunded yet; the text says how to use it. */
function describeRefund({ refunded, refundedTo, refundReason, currency }: Receipt): [string, string | null] {
  if (refundedTo !== 'payer') return ['Refunded', refunded && `${refunded} ${currency}: ${refundReason ?? ''}`]
  const how = 'Show the same payment with the same request again, and the work is tried again for it.'
  return ['Held for the payer', `${refunded} ${currency}: ${refundReason ?? ''}. ${how}`]
}

/** Renders a receipt as a printable page without scripts or external resources. */
export function showReceipt(c: Context, receipt: Receipt): Response {
  c.header('content-security-policy', `${POLICY}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`)
  const lines: [string, string | null][] = [
    ['Receipt', receipt.id],
    ['Date (UTC)', receipt.createdAt.slice(0, 16).replace('T', ' ')],
    ['For', receipt.what],
    ['Paid', `${receipt.amount} ${receipt.currency}`],
    ['By', METHODS[receipt.method] ?? receipt.method],
    ['Payer', receipt.payer],
    ['Reference', receipt.reference],
    describeRefund(receipt),
  ]
  const rows = lines.flatMap(([name, value]) =>
    value === null ? [] : [`<dt>${name}</dt><dd>${Bun.escapeHTML(value)}</dd>`],
  )
  return c.html(
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<title>Receipt ${Bun.escapeHTML(receipt.id)}</title><style>${STYLE}</style></head>` +
      `<body><h1>Receipt</h1><dl>${rows.join('')}</dl></body></html>\n`,
  )
}
