import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { evm, Mppx } from 'mppx/client'
import { z } from 'zod'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { devAccount, hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import { DOLLAR_CODE } from '../../../../tests/harness/chain/contract-code.ts'
import { startTestChain, type TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import { addAgent, fund, PAYEE, readToken, USDC } from '../../../../tests/harness/paying-platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { idempotencyKeys } from '../../../http/tables.ts'
import { usageLogs } from '../../ai/usage/tables.ts'
import { creditsOf, platformAccount } from '../ledger/accounts.ts'
import { checkLedger } from '../ledger/check.ts'
import { readBalance, transfer } from '../ledger/post.ts'
import { receipts } from '../receipts/tables.ts'
import { payByCredits, refundAbandoned } from './payments.ts'
import { gatewayPayments } from './tables.ts'

/** The settling account, the fourth of the test chain. */
const SETTLER_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'
const PATH = '/api/v1/gateway'
const ONCE = { made: null, note: () => undefined }
const CENT = 10_000
const Served = z.object({
  plugin: z.string(),
  result: z.record(z.string(), z.unknown()),
  payment: z.object({
    method: z.string(),
    amount: z.string(),
    discount: z.number(),
    receipt: z.string().nullable(),
    receiptId: z.string(),
  }),
})
const Failed = z.object({
  error: z.string(),
  code: z.string(),
  message: z.string(),
  refund: z.object({ to: z.string(), amount: z.string(), currency: z.string(), receiptId: z.string() }),
})
const TEXT = { plugin: 'generate-text', model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }

/** A platform with a web page, a model and a user with credits. */
async function installation(environment: Record<string, string> = {}, cents = 5) {
  let reads = 0
  let isGone = true
  const page = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      reads++
      return request.url.endsWith('/gone') && isGone
        ? new Response('no', { status: 500 })
        : new Response('<title>Hello</title><h1>World</h1>', { headers: { 'content-type': 'text/html' } })
    },
  })
  const it = await aiPlatform({ environment: { SUMMARIZER_ALLOW_PRIVATE: 'true', USDC_ADDRESS: USDC, ...environment } })
  const { user, cookie } = await it.signIn('ada@example.com')
  const { db } = it.platform
  if (cents > 0) {
    const ends = { from: platformAccount('cards', 'USD'), to: creditsOf(user.id) }
    await write(db, (tx) => transfer(tx, it, { cause: 'card', memo: 'Card', ...ends, amount: cents * CENT }))
  }
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    it.web.request(PATH, json('POST', body, headers))
  /** Sends as clients do, to the public address. */
  const asClient = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = input instanceof Request ? new Request(input, init) : new Request(String(input), init)
    const body = await request.text()
    return it.web.request(new URL(request.url).pathname, { method: request.method, headers: request.headers, body })
  }
  return {
    ...it,
    db,
    user,
    cookie,
    send,
    asClient: Object.assign(asClient, { preconnect: () => undefined }),
    url: `http://localhost:3000${PATH}`,
    readable: { plugin: 'summarize', url: `${page.url}` },
    gone: { plugin: 'summarize', url: `${page.url}gone` },
    /** Restores what was removed. */
    mend: () => {
      isGone = false
    },
    reads: () => reads,
    balance: () => readBalance(db, creditsOf(user.id)),
    payments: () => db.select().from(gatewayPayments).all(),
    [Symbol.asyncDispose]: async () => {
      await page.stop(true)
      await it.provider.stop()
    },
  }
}

test('GET /api/v1/gateway: 200 without credentials, with every plugin and its price, without a chain when none is set', async () => {
  await using it = await installation()
  const response = await it.web.request(PATH)
  const { plugins, onChain } = z
    .object({ plugins: z.array(z.object({ id: z.string(), price: z.string() })), onChain: z.null() })
    .parse(await response.json())
  expect([response.status, onChain]).toEqual([200, null])
  expect(plugins.map(({ id, price }) => [id, price])).toEqual([
    ['generate-text', '0.01'],
    ['summarize', '0.01'],
    ['extract', '0.01'],
    ['agent', '0.05'],
  ])
})

test('POST /api/v1/gateway with credits: 200 with the result, which is paid, recorded and has a receipt', async () => {
  await using it = await installation()
  const response = await it.send(it.readable, it.cookie)
  expect([response.status, response.headers.get('x-plugin-id')]).toEqual([200, 'summarize'])
  const { result, payment } = Served.parse(await response.json())
  expect(result).toMatchObject({ title: 'Hello', headings: ['World'] })
  expect(payment).toMatchObject({ method: 'stripe', receipt: null })
  expect(await it.balance()).toBe(4 * CENT)
  const text = Served.parse(await (await it.send(TEXT, it.cookie)).json())
  expect(text.result).toMatchObject({ model: 'openai/gpt-4o-mini', text: expect.any(String) })
  expect(await it.recordedUsage()).toMatchObject([{ userId: 'gateway', endpoint: PATH, model: 'openai/gpt-4o-mini' }])
  expect(readBalance(it.db, platformAccount('sales', 'USD'))).toBe(2 * CENT)
  const receipt = await it.web.request(`/api/receipts/${payment.receiptId}`, { headers: it.cookie })
  expect(await receipt.json()).toMatchObject({ what: 'Summary of a web page', method: 'credits', amount: '0.01' })
  expect((await it.web.request(`/api/receipts/${payment.receiptId}`)).status).toBe(404)
  expect(checkLedger(it.db).faults).toEqual([])
})

test('POST /api/v1/gateway: 200 only for covered ones of 200 concurrent requests', async () => {
  await using it = await installation()
  const answers = await Promise.all(Array.from({ length: 200 }, () => it.send(it.readable, it.cookie)))
  const statuses = answers.map(({ status }) => status)
  expect([
    statuses.filter((status) => status === 200).length,
    statuses.filter((status) => status === 402).length,
  ]).toEqual([5, 195])
  expect(it.balance()).toBe(0)
  expect(await answers.find(({ status }) => status === 402)?.json()).toMatchObject({
    code: 'INSUFFICIENT_FUNDS',
    needed: '0.01',
  })
  expect(checkLedger(it.db).faults).toEqual([])
}, 300_000)

test('POST /api/v1/gateway: 502 WORK_FAILED with a refund to the credits when the work fails', async () => {
  await using it = await installation()
  const response = await it.send(it.gone, it.cookie)
  const { code, refund } = Failed.parse(await response.json())
  expect([response.status, code]).toEqual([502, 'WORK_FAILED'])
  expect(refund).toMatchObject({ to: 'credits', amount: '0.01', currency: 'USD' })
  expect(it.balance()).toBe(5 * CENT)
  const receipt = await it.web.request(`/api/receipts/${refund.receiptId}`, { headers: it.cookie })
  expect(await receipt.json()).toMatchObject({ refunded: '0.01' })
  expect(checkLedger(it.db).faults).toEqual([])
})

test('a payment is refunded when a crash interrupted its work', async () => {
  await using it = await installation()
  const deps = it.platform
  const work = { plugin: 'summarize', what: 'Summary', userId: it.user.id, requestHash: 'one', once: ONCE }
  await payByCredits(deps, work, CENT)
  await refundAbandoned(deps)
  expect(it.balance()).toBe(4 * CENT)
  it.clock.advance(901_000)
  await refundAbandoned(deps)
  await refundAbandoned(deps)
  expect(it.balance()).toBe(5 * CENT)
  expect(checkLedger(it.db).faults).toEqual([])
})

test('POST /api/v1/gateway with an Idempotency-Key: one payment, execution and response for 200 concurrent requests', async () => {
  await using it = await installation()
  const keyed = { ...it.cookie, 'idempotency-key': 'one' }
  const answers = await Promise.all(Array.from({ length: 200 }, () => it.send(it.readable, keyed)))
  const bodies = new Set(await Promise.all(answers.map((answer) => answer.text())))
  expect([new Set(answers.map(({ status }) => status)), bodies.size]).toEqual([new Set([200]), 1])
  expect([it.balance(), it.reads(), it.payments().length]).toEqual([4 * CENT, 1, 1])
  const other = await it.send({ ...it.readable, plugin: 'extract' }, keyed)
  expect([other.status, await other.json()]).toMatchObject([409, { code: 'IDEMPOTENCY_MISMATCH' }])
  expect((await it.send(it.readable, { ...keyed, 'x-plugin-id': 'extract' })).status).toBe(409)
  expect(checkLedger(it.db).faults).toEqual([])
}, 300_000)

test('POST /api/v1/gateway with an Idempotency-Key: 402 when the balance is too low, and paid when it is sufficient', async () => {
  await using it = await installation({}, 0)
  const keyed = { ...it.cookie, 'idempotency-key': 'one' }
  expect((await it.send(it.readable, keyed)).status).toBe(402)
  const ends = { from: platformAccount('cards', 'USD'), to: creditsOf(it.user.id) }
  await write(it.db, (tx) => transfer(tx, it, { cause: 'later', memo: 'Card', ...ends, amount: CENT }))
  expect((await it.send(it.readable, keyed)).status).toBe(200)
  const again = await it.send(it.readable, keyed)
  expect([again.status, again.headers.get('idempotency-replayed'), it.balance()]).toEqual([200, 'true', 0])
})

test('POST /api/v1/gateway with an Idempotency-Key: 502 and a refund when work fails, paid and executed again with the same key', async () => {
  await using it = await installation()
  const keyed = { ...it.cookie, 'idempotency-key': 'one' }
  expect((await it.send(it.gone, keyed)).status).toBe(502)
  expect((await it.send(it.gone, keyed)).status).toBe(502)
  expect(it.balance()).toBe(5 * CENT)
  it.mend()
  for (let again = 0; again < 2; again++) expect((await it.send(it.gone, keyed)).status).toBe(200)
  expect(it.balance()).toBe(4 * CENT)
  expect(checkLedger(it.db).faults).toEqual([])
})

test('POST /api/v1/gateway with an Idempotency-Key: 200 without a second payment when a crash interrupted the work', async () => {
  await using it = await installation()
  const earned = () => readBalance(it.db, platformAccount('sales', 'USD'))
  const keyed = { ...it.cookie, 'idempotency-key': 'one' }
  const cutOff = (state: 'working' | 'served') =>
    write(it.db, (tx) => {
      tx.update(idempotencyKeys).set({ status: null, answer: null }).run()
      tx.update(gatewayPayments).set({ state }).run()
    })
  expect((await it.send(it.readable, keyed)).status).toBe(200)
  // The response had not been stored, so it had not left either.
  await cutOff('served')
  expect((await it.send(it.readable, keyed)).status).toBe(200)
  expect([it.balance(), earned(), it.reads()]).toEqual([4 * CENT, CENT, 2])
  await cutOff('working')
  expect((await it.send(it.readable, keyed)).status).toBe(200)
  expect([it.balance(), earned(), it.reads()]).toEqual([4 * CENT, CENT, 3])
  expect(checkLedger(it.db).faults).toEqual([])
})

test.each([
  ['with an Idempotency-Key that gets the answer later', { 'idempotency-key': 'one' }],
  ['without an Idempotency-Key', {}],
])('POST /api/v1/gateway: one charge when the caller disconnects, %s', async (_what, key) => {
  await using it = await installation()
  const caller = new AbortController()
  it.provider.answerWith(() => {
    caller.abort()
    return { text: 'Worked for.' }
  })
  const order = json('POST', TEXT, { ...it.cookie, ...key })
  await it.web.request(PATH, { ...order, signal: caller.signal })
  expect(it.payments().map(({ state }) => state)).toEqual(['served'])
  expect(it.balance()).toBe(4 * CENT)
  if ('idempotency-key' in key) {
    const again = await it.web.request(PATH, order)
    expect([again.status, await again.json()]).toMatchObject([200, { result: { text: 'Worked for.' } }])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect([it.balance(), it.provider.chats.length]).toEqual([4 * CENT, 1])
  }
  expect(checkLedger(it.db).faults).toEqual([])
})

test('POST /api/v1/gateway for an agent of the colony: 200 with the discount of its tier in price, response and receipt', async () => {
  await using it = await installation()
  const agentId = await addAgent(it, it.user.id)
  await write(it.db, (tx) => {
    for (let call = 0; call < 10; call++) {
      tx.insert(usageLogs)
        .values({ userId: it.user.id, agentId, model: 'm', success: true, createdAt: it.clock.now() })
        .run()
    }
  })
  const order = { ...it.readable, agentId }
  const pay = async (cookie: Record<string, string>) => {
    const { payment } = Served.parse(await (await it.send(order, cookie)).json())
    return [payment.amount, payment.discount]
  }
  expect(await pay(it.cookie)).toEqual(['0.01', 0])
  await it.web.request('/api/x402', json('POST', { action: 'join-colony', agentId, walletAddress: PAYEE }, it.cookie))
  expect(await pay(it.cookie)).toEqual(['0.0075', 25])
  expect(it.balance()).toBe(5 * CENT - CENT - 7500)
  const eve = await it.signIn('eve@example.com')
  const ends = { from: platformAccount('cards', 'USD'), to: creditsOf(eve.user.id) }
  await write(it.db, (tx) => transfer(tx, it, { cause: 'eve', memo: 'Card', ...ends, amount: CENT }))
  expect(await pay(eve.cookie)).toEqual(['0.01', 0])
  expect(checkLedger(it.db).faults).toEqual([])
})

test('POST /api/v1/gateway: 400 without an account when the key can be guessed', async () => {
  await using it = await installation()
  expect((await it.send(it.readable, { 'idempotency-key': 'one' })).status).toBe(400)
  expect((await it.send(it.readable, { 'idempotency-key': crypto.randomUUID() })).status).toBe(402)
})

test('POST /api/v1/gateway: 429 above 100 a minute', async () => {
  await using it = await installation({ RATE_LIMIT_GATEWAY: '' })
  const statuses = async (times: number) =>
    (await Promise.all(Array.from({ length: times }, () => it.send({ plugin: 'summarize' })))).map(
      ({ status }) => status,
    )
  expect(new Set(await statuses(100))).toEqual(new Set([400]))
  const limited = await it.send({ plugin: 'summarize' })
  expect([limited.status, limited.headers.has('retry-after')]).toEqual([429, true])
})

test('POST /api/v1/gateway: 400, 401 or 502 before payment when the request cannot be executed', async () => {
  await using it = await installation()
  for (const [body, status] of [
    [{ plugin: 'summarize' }, 400],
    [{ plugin: 'generate-text', messages: [] }, 400],
    [{ plugin: 'generate-text', messages: [{ role: 'user', content: 'x'.repeat(16_001) }] }, 400],
    [{ plugin: 'agent' }, 400],
    [{ plugin: 'constructor' }, 502],
    [{}, 502],
  ] as const) {
    expect([body, (await it.send(body, it.cookie)).status]).toEqual([body, status])
  }
  const bad = await it.web.request(PATH, { method: 'POST', headers: it.cookie, body: '{' })
  expect(await bad.json()).toMatchObject({ error: 'no_plugin' })
  expect((await it.send({ plugin: 'agent', message: 'Hi' })).status).toBe(401)
  expect([it.balance(), it.payments()]).toEqual([5 * CENT, []])
})

test('POST /api/v1/gateway without a chain: 402 with the credits page for anonymous callers, 503 for MPP', async () => {
  await using it = await installation()
  const response = await it.send(it.readable)
  expect(response.status).toBe(402)
  expect(await response.json()).toMatchObject({
    error: 'payment_required',
    mpp: null,
    stripe: { amount: '0.01', currency: 'usd', checkoutUrl: expect.stringContaining('/api/payments/credits') },
  })
  const mpp = await it.send(it.readable, { 'x-payment-method': 'mpp' })
  expect([mpp.status, await mpp.json()]).toMatchObject([
    503,
    { code: 'NOT_CONFIGURED', error: expect.stringContaining('GATEWAY_PAY_TO') },
  ])
})

describe.skipIf(!hasAnvil)('on a chain', () => {
  let chain: TestChain
  const payer = devAccount(5)
  beforeAll(async () => {
    chain = await startTestChain(8453)
    await chain.putCode(USDC, DOLLAR_CODE)
    await fund(chain, USDC, payer.address, 100_000_000n)
  })
  afterAll(() => chain.stop())
  const openTestPlatform = () =>
    installation({ BASE_RPC_URL: chain.rpcUrl, GATEWAY_PAY_TO: PAYEE, GATEWAY_SETTLER_KEY: SETTLER_KEY }, 0)
  const held = () => readToken(chain, USDC, PAYEE)

  test('402 with both challenges, in headers and as JSON', async () => {
    await using it = await openTestPlatform()
    const response = await it.send(it.readable)
    expect(response.status).toBe(402)
    expect(response.headers.get('www-authenticate')).toStartWith('Payment ')
    const required = JSON.parse(Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString())
    expect(required).toMatchObject({
      x402Version: 2,
      accepts: [{ scheme: 'exact', network: 'eip155:8453', amount: '10000' }],
    })
    expect(await response.json()).toMatchObject({
      error: 'payment_required',
      mpp: { scheme: 'Payment', amount: '0.01', currency: USDC, recipient: PAYEE, nonce: expect.any(String) },
      stripe: { amount: '0.01' },
    })
  })

  test('200 when the mppx client pays', async () => {
    await using it = await openTestPlatform()
    const before = await held()
    const authorization = { name: 'USD Coin', version: '2' }
    const client = Mppx.create({
      methods: [evm.charge({ account: payer, authorization, currencies: [USDC], networks: [8453] })],
      fetch: it.asClient,
      polyfill: false,
    })
    const response = await client.fetch(it.url, json('POST', it.readable))
    const { result, payment } = Served.parse(await response.json())
    expect(result).toMatchObject({ title: 'Hello' })
    expect(payment).toMatchObject({ method: 'mpp', receipt: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    expect(response.headers.get('payment-receipt')).toBeString()
    expect((await held()) - before).toBe(10_000n)
    expect(readBalance(it.db, platformAccount('sales', 'USDC'))).toBe(CENT)
    const receipt = await it.web.request(`/api/receipts/${payment.receiptId}`)
    expect(await receipt.json()).toMatchObject({
      method: 'mpp',
      reference: payment.receipt,
      payer: payer.address.toLowerCase(),
    })
    expect(checkLedger(it.db).faults).toEqual([])
  })

  test('200 when the x402 client pays; 200 concurrent requests with one signature pay once', async () => {
    await using it = await openTestPlatform()
    const before = await held()
    let signed: Headers | undefined
    const listening = async (input: string | URL | Request, init?: RequestInit) => {
      const request = input instanceof Request ? new Request(input, init) : new Request(String(input), init)
      if (request.headers.has('payment-signature')) {
        signed = new Headers(request.headers)
        // Many attackers replay the signature before the client itself does.
        const body = await request.clone().text()
        const shown = { method: 'POST', headers: signed, body }
        const answers = await Promise.all(Array.from({ length: 200 }, () => it.web.request(PATH, shown)))
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
        return answers.find(({ status }) => status === 200) ?? answers[0] ?? new Response()
      }
      return it.asClient(request)
    }
    const client = new x402Client().setSpendControls(false).register('eip155:8453', new ExactEvmScheme(payer))
    const paying = wrapFetchWithPayment(Object.assign(listening, { preconnect: () => undefined }), client)
    const response = await paying(it.url, json('POST', it.readable))
    const { payment } = Served.parse(await response.json())
    expect(payment).toMatchObject({ method: 'x402', receipt: expect.stringMatching(/^0x/) })
    expect(response.headers.get('payment-response')).toBeString()
    expect((await held()) - before).toBe(10_000n)
    const again = await it.web.request(PATH, {
      method: 'POST',
      headers: signed ?? {},
      body: JSON.stringify(it.readable),
    })
    expect([again.status, (await held()) - before]).toEqual([402, 10_000n])
    expect(it.db.select().from(receipts).all()).toHaveLength(1)
    expect(checkLedger(it.db).faults).toEqual([])
  }, 300_000)

  test('502 after payment when the work fails: a user gets credits, a stranger’s money is reserved for the address', async () => {
    await using it = await openTestPlatform()
    const shown: Request[] = []
    const listening = (input: string | URL | Request, init?: RequestInit) => {
      const request = input instanceof Request ? new Request(input, init) : new Request(String(input), init)
      shown.push(new Request(request))
      return it.asClient(request)
    }
    const pay = async (headers: Record<string, string>) => {
      const client = new x402Client().setSpendControls(false).register('eip155:8453', new ExactEvmScheme(payer))
      return wrapFetchWithPayment(Object.assign(listening, { preconnect: () => undefined }), client)(
        it.url,
        json('POST', it.gone, { 'x-payment-method': 'mpp', ...headers }),
      )
    }
    const known = await pay(it.cookie)
    expect([known.status, Failed.parse(await known.json()).refund]).toMatchObject([
      502,
      { to: 'credits', amount: '0.01', currency: 'USDC' },
    ])
    expect(it.balance()).toBe(CENT)
    const stranger = await pay({})
    const failed = Failed.parse(await stranger.json())
    expect(failed).toMatchObject({
      message: expect.stringContaining('show the same payment with the same request again'),
      refund: { to: 'payer', amount: '0.01' },
    })
    const receipt = () => it.web.request(`/api/receipts/${failed.refund.receiptId}`).then((answer) => answer.json())
    expect(await receipt()).toMatchObject({ refunded: '0.01', refundedTo: 'payer' })
    const ownerId = `payer:${payer.address.toLowerCase()}`
    const heldForPayer = () => readBalance(it.db, { kind: 'escrow', ownerId, currency: 'USDC' })
    expect(heldForPayer()).toBe(CENT)
    const before = await held()
    const last = shown.at(-1)
    const key = { 'idempotency-key': crypto.randomUUID() }
    const again = () =>
      it.asClient(last ? new Request(last) : '', { headers: { ...Object.fromEntries(last?.headers ?? []), ...key } })
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(Failed.parse(await (await again()).json()).refund).toMatchObject({ to: 'payer', amount: '0.01' })
      expect(heldForPayer()).toBe(CENT)
    }
    it.mend()
    const served = await again()
    expect([served.status, heldForPayer(), await held()]).toEqual([200, 0, before])
    expect(await receipt()).toMatchObject({ refunded: null, refundedTo: null, refundReason: null })
    expect((await again()).status).toBe(200)
    expect([heldForPayer(), await held()]).toEqual([0, before])
    expect((await it.asClient(last ? new Request(last) : '')).status).toBe(402)
    expect(checkLedger(it.db).faults).toEqual([])
  })

  test('402 when the payer has no money; nothing is sent, and the signature stays usable', async () => {
    await using it = await openTestPlatform()
    const poor = devAccount(6)
    const client = new x402Client().setSpendControls(false).register('eip155:8453', new ExactEvmScheme(poor))
    const before = await held()
    const response = await wrapFetchWithPayment(it.asClient, client)(it.url, json('POST', it.readable)).catch(String)
    expect(typeof response === 'string' ? 402 : response.status).not.toBe(200)
    expect([await held(), it.payments()]).toEqual([before, []])
  })
})
