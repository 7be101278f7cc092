import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { openPaying, PAYEE, type Paying } from '../../../../tests/harness/paying-platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { checkLedger } from '../ledger/check.ts'
import { orderPayment } from './order.ts'
import { OnePayment, PaymentList, WalletList } from './schemas.ts'
import { type PaymentRow, walletPayments } from './tables.ts'

/** Orders a payment of Ada's agent, by default waiting for approval. */
function order({ platform, wallet, user, agentId }: Paying, reference: string, change: Partial<PaymentRow> = {}) {
  return write(platform.db, (tx) => {
    const { id } = orderPayment(tx, platform, {
      wallet: { ...wallet, approvalAboveMicroUsd: 1 },
      userId: user.id,
      agentId,
      kind: 'upstream',
      purpose: 'x402.pay',
      reference,
      recipient: PAYEE,
      currency: 'USDC',
      chainId: null,
      amountMicroUsd: 2_000_000,
    })
    if (Object.keys(change).length > 0) tx.update(walletPayments).set(change).where(eq(walletPayments.id, id)).run()
    return id
  })
}

test('GET /api/wallet/list, PATCH /api/wallet/policy: 200 with own wallets and their policies; 400, 404 and 401 otherwise', async () => {
  const paying = await openPaying(null)
  const { web, cookie, agentId, wallet, signIn } = paying
  const change = (body: object, headers: Record<string, string> = cookie) =>
    web.request('/api/wallet/policy', json('PATCH', { agentId, ...body }, headers))
  expect((await change({ perDay: '10', recipients: [PAYEE] })).status).toBe(200)
  const { wallets } = await read(WalletList, web.request('/api/wallet/list', { headers: cookie }))
  expect(wallets).toMatchObject([{ address: wallet.address, policy: { perDay: '10.00', recipients: [PAYEE] } }])
  expect((await change({ perDay: '-1' })).status).toBe(400)
  expect((await change({ perDay: '5' }, (await signIn('eve@example.com')).cookie)).status).toBe(404)
  expect((await change({ perDay: '5' }, {})).status).toBe(401)
  expect((await web.request('/api/wallet/list')).status).toBe(401)
})

test('GET /api/wallet/payments and /api/wallet/payments/:id: 200 with own payments, page by page; 404 for a stranger', async () => {
  const paying = await openPaying(null)
  const { web, cookie, agentId, signIn } = paying
  const ids = [await order(paying, 'one'), await order(paying, 'two'), await order(paying, 'three')]
  const list = (query = '') => read(PaymentList, web.request(`/api/wallet/payments${query}`, { headers: cookie }))
  const first = await list(`?limit=2&agentId=${agentId}`)
  const rest = await list(`?limit=2&before=${first.next}`)
  expect([...first.payments, ...rest.payments].map(({ id }) => id).sort()).toEqual(ids.toSorted())
  expect([first.payments.length, rest.next]).toEqual([2, null])
  const path = `/api/wallet/payments/${ids[0]}`
  const { payment } = await read(OnePayment, web.request(path, { headers: cookie }))
  expect(payment).toMatchObject({ id: ids[0], status: 'awaiting_approval', amount: '2.00' })
  const eve = await signIn('eve@example.com')
  expect((await web.request(path, { headers: eve.cookie })).status).toBe(404)
  expect((await web.request('/api/wallet/payments', { headers: eve.cookie })).status).toBe(200)
  expect((await web.request('/api/wallet/payments?limit=0', { headers: cookie })).status).toBe(400)
  for (const open of [path, '/api/wallet/payments']) expect((await web.request(open)).status).toBe(401)
})

test('POST /api/wallet/payments/:id/approve, /api/wallet/payments/:id/deny, /api/wallet/payments/:id/resolve: 200 once for the owner, 404 for a stranger', async () => {
  const paying = await openPaying(null)
  const { web, cookie, signIn, platform } = paying
  const [approved, denied, unknown] = [
    await order(paying, 'one'),
    await order(paying, 'two'),
    await order(paying, 'three', { status: 'unknown' }),
  ]
  const eve = await signIn('eve@example.com')
  const decide = (id: string, word: string, body: object = {}, headers: Record<string, string> = cookie) =>
    web.request(`/api/wallet/payments/${id}/${word}`, json('POST', body, headers))
  for (const word of ['approve', 'deny', 'resolve']) {
    const body = { status: 'succeeded' }
    expect([word, (await decide(approved, word, body, eve.cookie)).status]).toEqual([word, 404])
    expect([word, (await decide('pay_nothing', word, body)).status]).toEqual([word, 404])
    expect([word, (await decide(approved, word, body, {})).status]).toEqual([word, 401])
  }
  const statusOf = async (answer: Promise<Response>) => (await read(OnePayment, answer)).payment.status
  expect(await statusOf(decide(approved, 'approve'))).toBe('created')
  expect(await statusOf(decide(denied, 'deny'))).toBe('denied')
  for (const [id, word] of [
    [approved, 'approve'],
    [approved, 'deny'],
    [denied, 'approve'],
    [denied, 'deny'],
  ] as const)
    expect((await decide(id, word)).status).toBe(409)
  expect((await decide(unknown, 'resolve', { status: 'perhaps' })).status).toBe(400)
  expect(await statusOf(decide(unknown, 'resolve', { status: 'succeeded' }))).toBe('succeeded')
  expect((await decide(unknown, 'resolve', { status: 'failed' })).status).toBe(409)
  // The external gateway paid with its own money, so no wallet moved.
  expect(checkLedger(platform.db)).toMatchObject({ entries: 0, faults: [] })
})
