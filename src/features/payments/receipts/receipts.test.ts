import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { noteRefund, writeReceipt } from './receipts.ts'
import { Receipt, ReceiptList } from './schemas.ts'

/** Ada has three receipts, an hour apart; a fourth is of an anonymous payment. */
async function openTestPlatform() {
  const it = testPlatform()
  const ada = await it.signIn('ada@example.com')
  const paid = { method: 'credits', amountMicros: 10_000, currency: 'USD' } as const
  const rows = await write(it.platform.db, (tx) =>
    [ada.user.id, ada.user.id, ada.user.id, null].map((userId, at) =>
      writeReceipt(tx, {
        ...paid,
        userId,
        what: `<b>Work ${at}</b>`,
        cause: `work:${at}`,
        payer: userId === null ? '0xb' : null,
        createdAt: new Date(it.clock.now().getTime() + at * 3_600_000),
      }),
    ),
  )
  return { ...it, ada, ids: rows.map(({ id }) => id) }
}

test('GET /api/receipts: 200 with own receipts in pages, newest first; 400 when the page is invalid, 401 without a session', async () => {
  const { web, ada, signIn, ids } = await openTestPlatform()
  const list = async (query = '', cookie = ada.cookie) =>
    (await read(ReceiptList, web.request(`/api/receipts${query}`, { headers: cookie }))).receipts
  const all = await list()
  expect(all.map(({ id }) => id)).toEqual([ids[2] ?? '', ids[1] ?? '', ids[0] ?? ''])
  expect((await list('?limit=1')).map(({ id }) => id)).toEqual([ids[2] ?? ''])
  expect((await list(`?before=${all[0]?.createdAt}`)).map(({ id }) => id)).toEqual([ids[1] ?? '', ids[0] ?? ''])
  expect(await list('', (await signIn('eve@example.com')).cookie)).toEqual([])
  for (const query of ['?limit=0', '?limit=x', '?before=yesterday'])
    expect((await web.request(`/api/receipts${query}`, { headers: ada.cookie })).status).toBe(400)
  expect((await web.request('/api/receipts')).status).toBe(401)
})

test('GET /api/receipts/:id: 200 as JSON or HTML, 404 for another user’s, 200 for an anonymous payment’s id', async () => {
  const { web, ada, signIn, ids, platform } = await openTestPlatform()
  const [own = '', , , open_ = ''] = ids
  const eve = await signIn('eve@example.com')
  const show = (id: string, headers: Record<string, string> = {}) => web.request(`/api/receipts/${id}`, { headers })
  expect(await read(Receipt, show(own, ada.cookie))).toMatchObject({ id: own, amount: '0.01', refunded: null })
  for (const headers of [{}, eve.cookie]) expect((await show(own, headers)).status).toBe(404)
  expect((await show('rcp_nothing', ada.cookie)).status).toBe(404)
  expect((await show(open_)).status).toBe(200)

  await write(platform.db, (tx) => noteRefund(tx, own, 10_000, 'The page is gone'))
  await write(platform.db, (tx) => noteRefund(tx, open_, 10_000, 'The page is gone'))
  expect(await read(Receipt, show(own, ada.cookie))).toMatchObject({ refunded: '0.01', refundedTo: 'credits' })
  expect(await read(Receipt, show(open_))).toMatchObject({ refunded: '0.01', refundedTo: 'payer' })
  const page = await show(own, { ...ada.cookie, accept: 'text/html' })
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  const text = await page.text()
  expect(text).toContain('&lt;b&gt;Work 0&lt;/b&gt;')
  expect(text).toContain('<dt>Refunded</dt><dd>0.01 USD: The page is gone</dd>')
  const held = await (await show(open_, { accept: 'text/html' })).text()
  expect(held).toContain('<dt>Held for the payer</dt>')
  expect(held).not.toContain('Refunded')
})
