import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import { DOLLAR_CODE } from '../../../../tests/harness/chain/contract-code.ts'
import { startTestChain, type TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import { startSeller } from '../../../../tests/harness/doubles/seller.ts'
import { fund, openPaying, PAYEE, readToken, USDC } from '../../../../tests/harness/paying-platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import type { Tx } from '../../../db/open.ts'
import { openTokens } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { settlePayments } from '../wallets/decide.ts'
import { managedWallets, walletPayments } from '../wallets/tables.ts'
import { callPaying } from './call.ts'
import { PaidCall, PaidCallResult } from './schemas.ts'

const PRICE = 250_000n

describe.skipIf(!hasAnvil)('paid requests (x402)', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await startTestChain(8453)
    await chain.putCode(USDC, DOLLAR_CODE)
  })
  afterAll(() => chain.stop())

  const openTestPlatform = async (on = chain) => {
    const environment = { SUMMARIZER_ALLOW_PRIVATE: 'true' }
    const paying = await openPaying(on.rpcUrl, { environment })
    await fund(on, USDC, paying.wallet.address, 10_000_000n)
    const seller = await startSeller(on, { chainId: 8453, token: USDC, payTo: PAYEE })
    const call = (body: object = {}, headers: Record<string, string> = {}) =>
      paying.web.request(
        '/api/wallet/fetch',
        json('POST', { agentId: paying.agentId, url: seller.url, ...body }, { ...paying.cookie, ...headers }),
      )
    const rows = () => paying.platform.db.select().from(walletPayments).all()
    const held = () => readToken(on, USDC, paying.wallet.address)
    return { ...paying, seller, call, rows, held, [Symbol.asyncDispose]: seller[Symbol.asyncDispose] }
  }

  test('POST /api/wallet/fetch: pays the requested price once and returns the response with the transaction', async () => {
    await using it = await openTestPlatform()
    const { response, payment } = await read(PaidCallResult, it.call({ method: 'POST', body: '{"q":1}' }))
    expect(response).toMatchObject({ status: 200, body: '{"report":"paid"}' })
    expect(payment).toMatchObject({ status: 'succeeded', kind: 'authorization', amount: '0.25', recipient: PAYEE })
    expect(payment?.transactionHash).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await it.held()).toBe(10_000_000n - PRICE)
    expect([it.seller.requests, it.seller.shown.length]).toEqual([2, 1])
  })

  test('POST /api/wallet/fetch: 200 without a payment when the resource is free', async () => {
    await using it = await openTestPlatform()
    it.seller.behaviour = 'is free'
    const answer = await read(PaidCallResult, it.call())
    expect(answer).toMatchObject({ response: { status: 200, body: '{"report":"free"}' }, payment: null })
    expect(it.rows()).toEqual([])
  })

  test.each([
    ['more than the caller said', { amount: '1000001' }],
    ['another network', { network: 'eip155:1' }],
    ['a network that is none', { network: 'solana:mainnet' }],
    ['another token', { asset: '0x9999999999999999999999999999999999999999' }],
    ['another scheme', { scheme: 'upto' }],
    ['another way of moving it', { extra: { name: 'USD Coin', version: '2', assetTransferMethod: 'permit2' } }],
    ['a signature that is valid for a year', { maxTimeoutSeconds: 31_536_000 }],
    ['nothing at all', { amount: '0' }],
    ['less than nothing', { amount: '-250000' }],
    ['a fraction', { amount: '0.25' }],
    ['an amount beyond every number', { amount: '9'.repeat(40) }],
    ['nobody', { payTo: 'vitalik.eth' }],
  ])('POST /api/wallet/fetch: 402 without a signature when a seller requests %s', async (_what, demand) => {
    await using it = await openTestPlatform()
    it.seller.demand = demand
    const answer = await it.call()
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([402, 'NOT_PAYABLE'])
    expect([it.rows(), it.seller.shown]).toEqual([[], []])
    expect(await it.held()).toBe(10_000_000n)
  })

  test.each(['takes, then 502', 'takes, then asks again'] as const)(
    'POST /api/wallet/fetch: 200 with the response when a seller %s; the payment succeeded and is made once',
    async (behaviour) => {
      await using it = await openTestPlatform()
      it.seller.behaviour = behaviour
      const { response, payment } = await read(PaidCallResult, it.call())
      expect(response?.status).toBe(behaviour === 'takes, then 502' ? 502 : 402)
      expect(payment?.status).toBe('succeeded')
      expect([await it.held(), it.seller.shown.length]).toEqual([10_000_000n - PRICE, 1])
    },
  )

  test('POST /api/wallet/fetch: 504 with status unknown when a seller settles but does not respond, then succeeded from the chain', async () => {
    await using it = await openTestPlatform()
    it.seller.behaviour = 'takes, then cut'
    const answer = await it.call()
    expect(answer.status).toBe(504)
    expect(await answer.json()).toMatchObject({ code: 'PAYMENT_UNKNOWN', status: 'unknown' })
    it.clock.advance(120_000)
    await settlePayments(it.platform)
    expect(it.rows().map(({ status }) => status)).toEqual(['succeeded'])
    expect([await it.held(), it.seller.shown.length]).toEqual([10_000_000n - PRICE, 1])
  })

  test.each(['asks again without taking', 'says that it took, and did not'] as const)(
    'a payment when a seller %s: unknown until the signature expires, then failed, or succeeded if it was settled before',
    async (behaviour) => {
      for (const takesLater of [false, true]) {
        // The test moves the clock of this chain.
        await using later = await startTestChain(8453)
        await later.putCode(USDC, DOLLAR_CODE)
        await using it = await openTestPlatform(later)
        it.seller.behaviour = behaviour
        const { payment } = await read(PaidCallResult, it.call())
        expect(payment?.status).toBe('unknown')
        const [shown] = it.seller.shown
        if (takesLater && shown) await it.seller.settle(shown)
        else await later.client.increaseTime({ seconds: 3600 })
        await later.client.mine({ blocks: 1 })
        it.clock.advance(3_600_000)
        await settlePayments(it.platform)
        expect(it.rows().map(({ status }) => status)).toEqual([takesLater ? 'succeeded' : 'failed'])
        expect(it.seller.shown).toHaveLength(1)
        expect(await it.held()).toBe(takesLater ? 10_000_000n - PRICE : 10_000_000n)
      }
    },
  )

  test('POST /api/wallet/fetch: 403 without a signature when the policy of the wallet forbids the payment', async () => {
    await using it = await openTestPlatform()
    const policy = (change: object) =>
      it.web.request('/api/wallet/policy', json('PATCH', { agentId: it.agentId, ...change }, it.cookie))
    const codeOf = async () => ((await (await it.call()).json()) as { code: string }).code
    await policy({ perPayment: '0.249999' })
    expect(await codeOf()).toBe('LIMIT_EXCEEDED')
    await policy({ perPayment: null, recipients: ['0x9999999999999999999999999999999999999999'] })
    expect(await codeOf()).toBe('RECIPIENT_NOT_ALLOWED')
    await policy({ recipients: null, frozen: true })
    expect(await codeOf()).toBe('WALLET_FROZEN')
    expect([it.rows(), it.seller.shown]).toEqual([[], []])
  })

  test('POST /api/wallet/fetch: 202 above the threshold, and the same call is paid once when it is approved', async () => {
    await using it = await openTestPlatform()
    await it.web.request('/api/wallet/policy', json('PATCH', { agentId: it.agentId, approvalAbove: '0.1' }, it.cookie))
    expect((await it.call()).status).toBe(202)
    expect((await it.call()).status).toBe(202)
    const [row] = it.rows()
    expect(it.rows()).toHaveLength(1)
    const approve = { method: 'POST', headers: it.cookie }
    expect((await it.web.request(`/api/wallet/payments/${row?.id}/approve`, approve)).status).toBe(200)
    await settlePayments(it.platform)
    expect(it.seller.shown).toEqual([])
    const answers = await Promise.all([it.call(), it.call()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(it.seller.shown).toHaveLength(1)
    expect(await it.held()).toBe(10_000_000n - PRICE)
  })

  const approved = async (it: Awaited<ReturnType<typeof openTestPlatform>>, change: object) => {
    const policy = (body: object) =>
      it.web.request('/api/wallet/policy', json('PATCH', { agentId: it.agentId, ...body }, it.cookie))
    await policy({ approvalAbove: '0.1' })
    expect((await it.call()).status).toBe(202)
    const approve = { method: 'POST', headers: it.cookie }
    expect((await it.web.request(`/api/wallet/payments/${it.rows()[0]?.id}/approve`, approve)).status).toBe(200)
    expect((await policy(change)).status).toBe(200)
    return policy
  }

  test.each([
    ['the limit of a payment is lowered', { perPayment: '0.2' }, 'LIMIT_EXCEEDED'],
    ['the limit of a day is lowered', { perDay: '0.2' }, 'LIMIT_EXCEEDED'],
    [
      'its recipient is removed',
      { recipients: ['0x9999999999999999999999999999999999999999'] },
      'RECIPIENT_NOT_ALLOWED',
    ],
  ])('POST /api/wallet/fetch: 403 for an approved call when %s', async (_what, change, code) => {
    await using it = await openTestPlatform()
    await approved(it, change)
    const refused = await it.call()
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([403, code])
    expect(it.rows().map(({ status }) => status)).toEqual(['failed'])
    expect([it.seller.shown, await it.held()]).toEqual([[], 10_000_000n])
  })

  test('PATCH /api/wallet/policy: 200 and freezing cancels an approved call for good', async () => {
    await using it = await openTestPlatform()
    const policy = await approved(it, { frozen: true })
    expect(it.rows()).toMatchObject([{ status: 'failed', reason: 'This wallet is frozen', checkAt: null }])
    expect((await it.call()).status).toBe(403)
    await policy({ frozen: false })
    expect((await it.call()).status).toBe(202)
    expect([it.seller.shown, await it.held()]).toEqual([[], 10_000_000n])
  })

  test('callPaying signs nothing when the wallet is frozen between order and signature', async () => {
    await using it = await openTestPlatform()
    const { platform, wallet } = it
    const frozen = platform.clock.now()
    const once = {
      made: null,
      note: (tx: Tx) =>
        void tx.update(managedWallets).set({ frozenAt: frozen }).where(eq(managedWallets.id, wallet.id)).run(),
    }
    const call = PaidCall.parse({ url: it.seller.url })
    await expect(callPaying(platform, wallet, call, once)).rejects.toMatchObject({ extra: { code: 'WALLET_FROZEN' } })
    expect(it.rows().map(({ status }) => status)).toEqual(['failed'])
    expect([it.seller.shown, await it.held()]).toEqual([[], 10_000_000n])
  })

  test('callPaying pays nothing in a copy of the installation, also for an approved call', async () => {
    await using it = await openTestPlatform()
    await approved(it, {})
    const call = PaidCall.parse({ url: it.seller.url })
    const once = { made: null, note: () => undefined }
    const copy = { ...it.platform, isStandby: true }
    await expect(callPaying(copy, it.wallet, call, once)).rejects.toMatchObject({ extra: { code: 'COPY' } })
    expect(it.rows().map(({ status }) => status)).toEqual(['created'])
    expect(it.seller.shown).toEqual([])
  })

  test('POST /api/wallet/fetch: four of ten concurrent calls are paid when the limit is a dollar', async () => {
    await using it = await openTestPlatform()
    await it.web.request('/api/wallet/policy', json('PATCH', { agentId: it.agentId, perDay: '1' }, it.cookie))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, call) => it.call({ body: String(call), method: 'POST' })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4)
    expect(await it.held()).toBe(9_000_000n)
  })

  test('POST /api/wallet/fetch: one payment and the first response when an Idempotency-Key is repeated', async () => {
    await using it = await openTestPlatform()
    const key = { 'idempotency-key': 'report' }
    const answers = await Promise.all(Array.from({ length: 20 }, async () => (await it.call({}, key)).text()))
    expect(new Set(answers).size).toBe(1)
    expect(it.seller.shown).toHaveLength(1)
  })

  test('POST /v1/paid-fetch: 200 when an agent pays from its own wallet; 401 without a token, 404 without a wallet', async () => {
    await using it = await openTestPlatform()
    const agent = it.platform.db.select().from(agents).where(eq(agents.id, it.agentId)).get()
    if (!agent) throw new Error('There is no agent')
    const own = bearer(openTokens(it.platform.sealer, agent).accessToken)
    const ask = (headers: Record<string, string>) =>
      it.backend.request('/v1/paid-fetch', json('POST', { url: it.seller.url, maxAmount: '0.25' }, headers))
    const { response, payment } = await read(PaidCallResult, ask(own))
    expect([response?.status, payment?.agentId]).toEqual([200, it.agentId])
    expect((await ask({})).status).toBe(401)
    const cheap = json('POST', { url: it.seller.url, maxAmount: '0.24' }, own)
    expect((await it.backend.request('/v1/paid-fetch', cheap)).status).toBe(402)
  })

  test('POST /api/wallet/fetch: 400 for payment headers of the caller and invalid amounts, 502 for private addresses, 404 for a stranger', async () => {
    await using it = await openTestPlatform()
    const statusOf = async (body: object) => (await it.call(body)).status
    expect(await statusOf({ headers: { 'payment-signature': 'x' } })).toBe(400)
    expect(await statusOf({ headers: { 'X-PAYMENT': 'x' } })).toBe(400)
    expect(await statusOf({ url: 'file:///etc/passwd' })).toBe(400)
    expect(await statusOf({ maxAmount: '100.01' })).toBe(400)
    expect(await statusOf({ maxAmount: 0 })).toBe(400)
    const { cookie } = await it.signIn('mallory@example.com')
    const foreign = json('POST', { agentId: it.agentId, url: it.seller.url }, cookie)
    expect((await it.web.request('/api/wallet/fetch', foreign)).status).toBe(404)
    const guarded = await openPaying(chain.rpcUrl)
    const inside = json('POST', { agentId: guarded.agentId, url: it.seller.url }, guarded.cookie)
    expect((await guarded.web.request('/api/wallet/fetch', inside)).status).toBe(502)
    expect(it.seller.requests).toBe(0)
  })

  test('POST /api/wallet/fetch: 503 with the setting to set when there is no chain', async () => {
    const { web, cookie, agentId } = await openPaying(null)
    const answer = await web.request('/api/wallet/fetch', json('POST', { agentId, url: 'http://127.0.0.1:1' }, cookie))
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'NOT_CONFIGURED'])
  })
})
