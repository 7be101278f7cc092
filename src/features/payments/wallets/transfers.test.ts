import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Address, Hex } from 'viem'
import { hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import type { TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import {
  fund,
  openPaying,
  type Paying,
  readToken,
  startTokenChain,
  USDC,
} from '../../../../tests/harness/paying-platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { checkLedger } from '../ledger/check.ts'
import { listLedger } from '../ledger/list.ts'
import { LedgerPage } from '../ledger/schemas.ts'
import { settlePayments } from './decide.ts'
import { orderPayment } from './order.ts'
import { getPayment } from './payments.ts'
import { OnePayment, PaymentList } from './schemas.ts'
import { type PaymentRow, walletPayments } from './tables.ts'
import { advanceTransfer } from './transfer.ts'

const DOLLAR = 1_000_000n

describe.skipIf(!hasAnvil)('payments from a wallet', () => {
  let chain: TestChain
  let payees = 0
  beforeAll(async () => {
    chain = await startTokenChain(8453, USDC)
  })
  afterAll(() => chain.stop())

  /** Returns an address without payments. */
  const newPayee = (): Address => `0x${(++payees).toString(16).padStart(40, 'a')}`
  const openTestPlatform = async (dollars = 100n) => {
    const paying = await openPaying(chain.rpcUrl)
    await fund(chain, USDC, paying.wallet.address, dollars * DOLLAR)
    return paying
  }
  const send = ({ web, cookie, agentId }: Paying, body: object, headers: Record<string, string> = {}) =>
    web.request('/api/wallet/send', json('POST', { agentId, currency: 'USDC', ...body }, { ...cookie, ...headers }))
  const paid = (payee: string) => readToken(chain, USDC, payee)

  test('POST /api/wallet/send: 503 without a row in a standby copy, and earlier orders are left to the original', async () => {
    const paying = await openPaying(chain.rpcUrl, { isStandby: true })
    await fund(chain, USDC, paying.wallet.address, 100n * DOLLAR)
    const payee = newPayee()
    const refused = await send(paying, { recipient: payee, amount: '1' })
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ error: 'This is a copy of another installation: it pays nothing' })
    expect(paying.platform.db.select().from(walletPayments).all()).toEqual([])

    const { platform, wallet, user, agentId } = paying
    const order = {
      wallet,
      userId: user.id,
      agentId,
      kind: 'transfer',
      purpose: 'send',
      reference: 'ordered by the original',
      recipient: payee,
      currency: 'USDC',
      chainId: 8453,
      amountMicroUsd: 1_000_000,
      keepsTrying: true,
    } as const
    const payment = await write(platform.db, (tx) => orderPayment(tx, { ...platform, isStandby: false }, order))
    paying.clock.advance(3_600_000)
    await settlePayments(platform)
    expect(getPayment(platform.db, payment.id)).toEqual(payment)
    expect(await paid(payee)).toBe(0n)
  })

  test('POST /api/wallet/send: 200 with the transaction, which moves exactly the amount', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const { payment } = await read(OnePayment, send(paying, { recipient: payee, amount: '0.3' }))
    expect(payment).toMatchObject({
      status: 'succeeded',
      amount: '0.30',
      currency: 'USDC',
      recipient: payee,
      kind: 'transfer',
    })
    expect(await paid(payee)).toBe(300_000n)
    const receipt = await chain.client.getTransactionReceipt({ hash: payment.transactionHash as Hex })
    expect(receipt.from).toBe(paying.wallet.address as Address)
    const lines = paying.platform.db.select().from(auditLog).where(eq(auditLog.action, 'wallet.payment')).all()
    expect(lines.map(({ actor, detail }) => [actor, detail])).toEqual([
      [paying.user.id, expect.objectContaining({ paymentId: payment.id, amountMicroUsd: 300_000, recipient: payee })],
    ])
    const { payments } = await read(PaymentList, paying.web.request('/api/wallet/payments', { headers: paying.cookie }))
    expect(payments).toEqual([payment])
    const ledger = await read(LedgerPage, paying.web.request('/api/ledger', { headers: paying.cookie }))
    expect(ledger.balances).toEqual([{ kind: 'wallets', currency: 'USDC', balance: '-0.30' }])
    expect(ledger.lines.map(({ amount, memo }) => [amount, memo])).toEqual([
      ['-0.30', `Paid from a wallet to ${payee} (send)`],
    ])
    expect(checkLedger(paying.platform.db)).toEqual({ entries: 1, lines: 2, accounts: 2, faults: [] })
  })

  test('POST /api/wallet/send: 402 when the balance is too low, and nothing is moved', async () => {
    const paying = await openTestPlatform(1n)
    const response = await send(paying, { recipient: newPayee(), amount: '1.000001' })
    expect(response.status).toBe(402)
    expect(await response.json()).toMatchObject({
      code: 'PAYMENT_FAILED',
      error: 'Payment failed: The wallet holds too little USDC',
    })
    expect(await paid(paying.wallet.address)).toBe(DOLLAR)
    expect(checkLedger(paying.platform.db)).toEqual({ entries: 0, lines: 0, accounts: 0, faults: [] })
  })

  test('POST /api/wallet/send: one payment for 200 requests with one Idempotency-Key', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const ask = () => send(paying, { recipient: payee, amount: 1 }, { 'idempotency-key': 'one' })
    const answers = await Promise.all(Array.from({ length: 200 }, ask))
    const ids = new Set(await Promise.all(answers.map(async (answer) => (await read(OnePayment, answer)).payment.id)))
    expect(ids.size).toBe(1)
    expect(await paid(payee)).toBe(DOLLAR)
  })

  test('POST /api/wallet/send: 30 concurrent payments are sent in order, each with its own nonce', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const answers = await Promise.all(Array.from({ length: 30 }, () => send(paying, { recipient: payee, amount: 1 })))
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(200))
    expect(await paid(payee)).toBe(30n * DOLLAR)
    const rows = paying.platform.db.select({ nonce: walletPayments.nonce }).from(walletPayments).all()
    expect(rows.map(({ nonce }) => nonce).sort((one, other) => Number(one) - Number(other))).toEqual(
      Array.from({ length: 30 }, (_, index) => index),
    )
  })

  test('POST /api/wallet/send: ten of 100 concurrent payments of a dollar are sent at a limit of ten dollars a day', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    await paying.web.request(
      '/api/wallet/policy',
      json('PATCH', { agentId: paying.agentId, perDay: '10' }, paying.cookie),
    )
    const answers = await Promise.all(Array.from({ length: 100 }, () => send(paying, { recipient: payee, amount: 1 })))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 403)).toHaveLength(90)
    const refused = answers.find(({ status }) => status === 403)
    expect(await refused?.json()).toEqual({
      error: 'The policy of this wallet allows 10.00 dollars a day',
      code: 'LIMIT_EXCEEDED',
      limit: 10,
      spent: 10,
    })
    expect(await paid(payee)).toBe(10n * DOLLAR)
  })

  test('POST /api/wallet/send: 403 beyond the limit per payment or month, for other recipients and when frozen', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const setPolicy = async (change: object) => {
      const request = json('PATCH', { agentId: paying.agentId, ...change }, paying.cookie)
      expect((await paying.web.request('/api/wallet/policy', request)).status).toBe(200)
    }
    const codeOf = async (amount: unknown, recipient: string = payee) => {
      const response = await send(paying, { recipient, amount })
      return response.status === 200 ? 200 : ((await response.json()) as { code: string }).code
    }
    await setPolicy({ perPayment: '2', perMonth: '5' })
    expect(await codeOf('2.000001')).toBe('LIMIT_EXCEEDED')
    expect([await codeOf(2), await codeOf(2), await codeOf(2)]).toEqual([200, 200, 'LIMIT_EXCEEDED'])
    await setPolicyOf(paying, {
      perPayment: null,
      perMonth: null,
      recipients: [payee.toUpperCase().replace('0X', '0x')],
    })
    expect([await codeOf(2), await codeOf(1, newPayee())]).toEqual([200, 'RECIPIENT_NOT_ALLOWED'])
  })

  test('POST /api/wallet/payments/:id/approve and POST /api/wallet/payments/:id/deny: 200 once when a payment above the threshold waits', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    await setPolicyOf(paying, { approvalAbove: '5' })
    expect((await send(paying, { recipient: payee, amount: 5 })).status).toBe(200)
    const waiting = await send(paying, { recipient: payee, amount: 6 })
    expect(waiting.status).toBe(202)
    const { payment } = await read(OnePayment, waiting)
    expect(payment.status).toBe('awaiting_approval')
    await settlePayments(paying.platform)
    expect(await paid(payee)).toBe(5n * DOLLAR)
    const decide = (word: string, id = payment.id) =>
      paying.web.request(`/api/wallet/payments/${id}/${word}`, { method: 'POST', headers: paying.cookie })
    // The response may come before the block.
    expect(['sent', 'succeeded']).toContain((await read(OnePayment, decide('approve'))).payment.status)
    const isPaid = async () => (await advanceTransfer(paying.platform, payment.id)).status === 'succeeded'
    await until('the approved payment', isPaid)
    expect((await decide('approve')).status).toBe(409)
    expect((await decide('deny')).status).toBe(409)
    expect(await paid(payee)).toBe(11n * DOLLAR)

    const second = (await read(OnePayment, send(paying, { recipient: payee, amount: 7 }))).payment
    expect((await read(OnePayment, decide('deny', second.id))).payment.status).toBe('denied')
    expect((await decide('approve', second.id)).status).toBe(409)
    const third = (await read(OnePayment, send(paying, { recipient: payee, amount: 8 }))).payment
    paying.clock.advance(61 * 60_000)
    expect((await decide('approve', third.id)).status).toBe(409)
    await settlePayments(paying.platform)
    expect(getPayment(paying.platform.db, third.id)).toMatchObject({
      status: 'denied',
      reason: 'It was not approved in time',
    })
    expect(await paid(payee)).toBe(11n * DOLLAR)
  })

  test('a frozen wallet sends nothing, also no earlier orders', async () => {
    const paying = await openTestPlatform()
    const ordered = await order(paying, newPayee())
    await setPolicyOf(paying, { frozen: true })
    const refused = await send(paying, { recipient: newPayee(), amount: 1 })
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([403, 'WALLET_FROZEN'])
    const ended = await advanceTransfer(paying.platform, ordered.id)
    expect(ended).toMatchObject({ status: 'failed', reason: 'This wallet is frozen', rawTransaction: null })
  })

  test.each([
    ['its recipient is removed', { recipients: ['0x9999999999999999999999999999999999999999'] }],
    ['the limit of a payment is lowered', { perPayment: '0.5' }],
    ['the limit of a day is lowered', { perDay: '0.5' }],
    ['it now needs an approval', { approvalAbove: '0.5' }],
  ])('advanceTransfer fails an ordered transfer when %s', async (_what, change) => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const ordered = await order(paying, payee, { keepsTrying: true })
    await setPolicyOf(paying, change)
    const ended = await advanceTransfer(paying.platform, ordered.id)
    expect(ended).toMatchObject({ status: 'failed', reason: expect.any(String), rawTransaction: null })
    expect(await paid(payee)).toBe(0n)
  })

  test('advanceTransfer broadcasts a signed transaction only after the wallet is unfrozen', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const ordered = await order(paying, payee)
    const { tokenChains } = paying.platform
    const dies = { ...tokenChains.USDC, broadcast: die }
    const killed = advanceTransfer({ ...paying.platform, tokenChains: { ...tokenChains, USDC: dies } }, ordered.id)
    await expect(killed).rejects.toThrow('killed')
    await setPolicyOf(paying, { frozen: true })
    paying.clock.advance(60_000)
    await settlePayments(paying.platform)
    expect(getPayment(paying.platform.db, ordered.id).rawTransaction).not.toBeNull()
    expect(await paid(payee)).toBe(0n)
    await setPolicyOf(paying, { frozen: false })
    await settleUntil(paying, ordered.id, hasSucceeded)
    expect(await paid(payee)).toBe(DOLLAR)
  })

  test('PATCH /api/wallet/policy: 200 with the owner’s session, not with an API key', async () => {
    const paying = await openTestPlatform()
    const made = await paying.web.request('/api/keys', json('POST', { name: 'laptop' }, paying.cookie))
    const { key } = (await made.json()) as { key: string }
    const asKey = { authorization: `Bearer ${key}` }
    const policy = json('PATCH', { agentId: paying.agentId, perDay: null }, asKey)
    expect((await paying.web.request('/api/wallet/policy', policy)).status).toBe(401)
    const ordered = await order(paying, newPayee())
    const approve = { method: 'POST', headers: asKey }
    expect((await paying.web.request(`/api/wallet/payments/${ordered.id}/approve`, approve)).status).toBe(401)
  })

  test('a transfer is the same when its reference is repeated, and a conflict for another amount', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const one = await order(paying, payee, { reference: 'split:1:0' })
    const again = await order(paying, payee, { reference: 'split:1:0' })
    expect(again.id).toBe(one.id)
    await Promise.all([advanceTransfer(paying.platform, one.id), advanceTransfer(paying.platform, again.id)])
    expect(await paid(payee)).toBe(DOLLAR)
    await expect(order(paying, payee, { reference: 'split:1:0', amountMicroUsd: 2 })).rejects.toMatchObject({
      kind: 'conflict',
    })
  })

  test('a stored transaction is sent once when the process was killed before or after sending it', async () => {
    for (const hasLeft of [false, true]) {
      const paying = await openTestPlatform()
      const payee = newPayee()
      const ordered = await order(paying, payee)
      const { tokenChains } = paying.platform
      const dies = { ...tokenChains.USDC, broadcast: hasLeft ? dieAfter(tokenChains.USDC.broadcast) : die }
      const killed = advanceTransfer({ ...paying.platform, tokenChains: { ...tokenChains, USDC: dies } }, ordered.id)
      await expect(killed).rejects.toThrow('killed')
      const left = getPayment(paying.platform.db, ordered.id)
      expect(left).toMatchObject({ status: 'sent', rawTransaction: expect.any(String), nonce: 0 })
      const settled = await settleUntil(paying, ordered.id, hasSucceeded)
      expect(settled.transactionHash).toBe(left.transactionHash)
      expect(await paid(payee)).toBe(DOLLAR)
    }
  })

  test('an unsigned payment fails when the process was killed, unless it keeps trying', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const one = await order(paying, payee)
    const split = await order(paying, payee, { keepsTrying: true })
    paying.clock.advance(20_000)
    await settlePayments(paying.platform)
    expect(getPayment(paying.platform.db, one.id)).toMatchObject({
      status: 'failed',
      reason: 'Interrupted before it was sent',
    })
    await settleUntil(paying, split.id, hasSucceeded)
    expect(await paid(payee)).toBe(DOLLAR)
  })

  test('a payment with keepsTrying is sent when the chain returns; one that a request waited for is not', async () => {
    const paying = await openPaying('http://127.0.0.1:1')
    const payee = newPayee()
    const refused = await send(paying, { recipient: payee, amount: 1 })
    expect(refused.status).toBe(503)
    const split = await order(paying, payee, { keepsTrying: true })
    expect(await advanceTransfer(paying.platform, split.id)).toMatchObject({
      status: 'created',
      reason: expect.any(String),
    })
    const back = await openTestPlatform()
    await fund(chain, USDC, paying.wallet.address, DOLLAR)
    const { tokenChains } = back.platform
    await settleUntil({ ...paying, platform: { ...paying.platform, tokenChains } }, split.id, hasSucceeded)
    expect(await paid(payee)).toBe(DOLLAR)
  })

  test('POST /api/wallet/send: 504 with status unknown when the result is unclear, settled later from the chain; nothing is paid twice', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const ordered = await order(paying, payee)
    const { tokenChains } = paying.platform
    const silent = async () => {
      throw new AppError('unavailable', 'The chain cannot be asked: timeout')
    }
    const mute = {
      ...tokenChains.USDC,
      broadcast: (raw: Hex) => tokenChains.USDC.broadcast(raw).then(silent),
    }
    const unknown = await advanceTransfer(
      { ...paying.platform, tokenChains: { ...tokenChains, USDC: mute } },
      ordered.id,
    )
    expect(unknown.status).toBe('unknown')
    expect((await settleUntil(paying, ordered.id, hasSucceeded)).reason).toBeNull()
    expect(await paid(payee)).toBe(DOLLAR)
  })

  test('GET /api/wallet/payments/:id: 200 flagged when the chain reverts its block, and the same transaction is sent again', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    const before = await chain.client.snapshot()
    const { payment } = await read(OnePayment, send(paying, { recipient: payee, amount: 1 }))
    await chain.client.revert({ id: before })
    expect(await paid(payee)).toBe(0n)
    const isBack = (row: PaymentRow) => row.undoneAt !== null && hasSucceeded(row)
    const again = await settleUntil(paying, payment.id, isBack)
    expect(again.transactionHash).toBe(payment.transactionHash ?? '')
    expect(await paid(payee)).toBe(DOLLAR)
    const line = paying.platform.db.select().from(auditLog).where(eq(auditLog.action, 'wallet.payment.undone')).get()
    expect(line?.detail).toMatchObject({ paymentId: payment.id, was: 'succeeded' })
    const shown = await read(
      OnePayment,
      paying.web.request(`/api/wallet/payments/${payment.id}`, { headers: paying.cookie }),
    )
    expect(shown.payment.undoneAt).not.toBeNull()
    const { lines } = listLedger(paying.platform.db, paying.user.id, { limit: 10 })
    expect(lines.map(({ amount, balance }) => [amount, balance])).toEqual([
      ['-1.00', '-1.00'],
      ['1.00', '0.00'],
      ['-1.00', '-1.00'],
    ])
    expect(checkLedger(paying.platform.db).faults).toEqual([])
  })

  test('a payment is final after twelve blocks: its signed transaction is deleted and no longer checked', async () => {
    const paying = await openTestPlatform()
    const { payment } = await read(OnePayment, send(paying, { recipient: newPayee(), amount: 1 }))
    expect(getPayment(paying.platform.db, payment.id).finalAt).toBeNull()
    await chain.client.mine({ blocks: 12 })
    const final = await settleUntil(paying, payment.id, ({ finalAt }) => finalAt !== null)
    expect(final).toMatchObject({ rawTransaction: null, checkAt: null })
  })

  test('POST /api/wallet/send: 402 with the reason when the wallet cannot pay the fee, and its nonce is free again', async () => {
    const paying = await openTestPlatform()
    const payee = newPayee()
    await chain.client.setBalance({ address: paying.wallet.address as Address, value: 0n })
    const refused = await send(paying, { recipient: payee, amount: 1 })
    expect(refused.status).toBe(402)
    expect(((await refused.json()) as { error: string }).error).toMatch(/insufficient funds/i)
    await chain.client.setBalance({ address: paying.wallet.address as Address, value: 10n ** 18n })
    expect((await send(paying, { recipient: payee, amount: 2 })).status).toBe(200)
    expect(await paid(payee)).toBe(2n * DOLLAR)
  })
})

async function setPolicyOf({ web, agentId, platform, user }: Paying, change: object): Promise<void> {
  const token = await platform.sessions.create(user.id)
  const cookie = { cookie: `service-session=${token}` }
  const response = await web.request('/api/wallet/policy', json('PATCH', { agentId, ...change }, cookie))
  expect([response.status, await response.json()]).toEqual([200, expect.anything()])
}

function order({ platform, wallet, user, agentId }: Paying, recipient: string, more: Partial<PaymentRow> = {}) {
  return write(platform.db, (tx) =>
    orderPayment(tx, platform, {
      wallet,
      userId: user.id,
      agentId,
      kind: 'transfer',
      purpose: 'split',
      reference: `test:${recipient}:${Math.random()}`,
      currency: 'USDC',
      chainId: 8453,
      recipient,
      amountMicroUsd: 1_000_000,
      ...(more.reference !== undefined && { reference: more.reference }),
      ...(more.amountMicroUsd !== undefined && { amountMicroUsd: more.amountMicroUsd }),
      ...(more.keepsTrying !== undefined && { keepsTrying: more.keepsTrying }),
    }),
  )
}

/** Runs the job with everything due until the row matches `isDone`. */
async function settleUntil({ platform, clock }: Paying, id: string, isDone: (row: PaymentRow) => boolean) {
  return until(`the payment ${id}`, async () => {
    clock.advance(60_000)
    await settlePayments(platform)
    const row = getPayment(platform.db, id)
    return isDone(row) ? row : null
  })
}

function hasSucceeded({ status }: PaymentRow): boolean {
  return status === 'succeeded'
}

async function die(): Promise<never> {
  throw new Error('killed')
}

function dieAfter(broadcast: (raw: Hex) => Promise<unknown>) {
  return async (raw: Hex): Promise<never> => {
    await broadcast(raw)
    return die()
  }
}
