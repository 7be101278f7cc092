import { Hono } from 'hono'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { getReceipt, listReceipts, showReceipt } from './receipts.ts'
import { Receipt, ReceiptList, ReceiptQuery } from './schemas.ts'

/** Receipts as JSON and as a printable page. Anonymous payers see theirs by id. */
export function receiptsWeb(deps: { db: Db; guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn, findUser } = deps.guards

  app.get(
    '/api/receipts',
    endpoint({ summary: 'Lists your receipts', tag: 'Billing', responses: { 200: ReceiptList } }),
    signedIn,
    validate('query', ReceiptQuery),
    (c) => c.json({ receipts: listReceipts(deps.db, c.var.user.id, c.req.valid('query')) }),
  )

  app.get(
    '/api/receipts/:id',
    endpoint({
      summary: 'Returns a receipt',
      tag: 'Billing',
      responses: { 200: [Receipt, 'text/html'] },
      errors: ['not_found'],
    }),
    async (c) => {
      const user = await findUser(c)
      const receipt = getReceipt(deps.db, c.req.param('id'), user?.id ?? null)
      c.header('vary', 'accept')
      return c.req.header('accept')?.includes('text/html') ? showReceipt(c, receipt) : c.json(receipt)
    },
  )

  return app
}
