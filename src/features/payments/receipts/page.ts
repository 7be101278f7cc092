import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import type { Receipt } from './schemas.ts'

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

/** What is held is not paid back yet, and the page says how to have something of it. */
function describeRefund({ refunded, refundedTo, refundReason, currency }: Receipt): [string, string | null] {
  if (refundedTo !== 'payer') return ['Paid back', refunded && `${refunded} ${currency}: ${refundReason ?? ''}`]
  const how = 'Show the same payment with the same request again, and the work is tried again for it.'
  return ['Held for the payer', `${refunded} ${currency}: ${refundReason ?? ''}. ${how}`]
}

/** A receipt as a page that prints: one sheet, no script, nothing from elsewhere. */
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
