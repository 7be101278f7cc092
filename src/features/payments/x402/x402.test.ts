import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import type { TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import { startColonyDouble } from '../../../../tests/harness/doubles/colony.ts'
import {
  addAgent,
  fund,
  openPaying,
  PATH_USD,
  PAYEE,
  readToken,
  startTokenChain,
  USDC,
} from '../../../../tests/harness/paying-platform.ts'
import type { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { createColonyUpstream } from '../../../adapters/colony/upstream.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { addUptime } from '../../agents/watchdog/uptime.ts'
import { usageLogs } from '../../ai/usage/tables.ts'
import { messageDays } from '../../conversations/chat/tables.ts'
import { settlePayments } from '../wallets/decide.ts'
import { walletPayments } from '../wallets/tables.ts'
import { pay } from './pay.ts'
import { EndpointList, Fitness, Paid, Pricing } from './schemas.ts'

type Web = ReturnType<typeof testPlatform>['web']
const post = (web: Web, body: unknown, headers: Record<string, string> = {}) =>
  web.request('/api/x402', json('POST', body, headers))
type Reported = { success?: boolean; error?: string; code?: string; status?: string; paymentId?: string }
const reported = async (response: Response | Promise<Response>): Promise<unknown[]> => {
  const answer = await response
  return [answer.status, await answer.json()]
}
const readReported = async (response: Response | Promise<Response>) => {
  const answer = await response
  return { status: answer.status, body: (await answer.json()) as Reported }
}
const BASE58 = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM'
const order = { action: 'pay', amount: 1.5, recipient: PAYEE }

describe('POST /api/x402: order and messages of its checks', () => {
  test('401 before any other check, except on public routes', async () => {
    const { web } = await openPaying(null)
    const { endpoints } = await read(EndpointList, post(web, { action: 'endpoints' }))
    expect(endpoints.map(({ slug }) => slug)).toEqual(['join-colony', 'fitness', 'pricing', 'pay'])
    const refused = [401, { success: false, error: 'Authentication required' }]
    for (const body of [{}, { action: 'nothing' }, { action: 'pay' }, { action: 'fitness', agentId: 'x' }]) {
      expect(await reported(post(web, body))).toEqual(refused)
    }
  })

  test('400 for agentId, then the action, then its fields', async () => {
    const { web, cookie, agentId } = await openPaying(null)
    const ask = (body: object) => reported(post(web, body, cookie))
    const INVALID = 'Invalid action. Use: join-colony, fitness, pricing, endpoints, or pay'
    const cases: [object, string][] = [
      [{}, 'agentId required'],
      [{ action: 'steal' }, 'agentId required'],
      [{ action: 'pay', agentId: 7 }, 'agentId required'],
      [{ action: 'fitness', agentId: '' }, 'agentId required'],
      [{ action: 'steal', agentId }, INVALID],
      [{ agentId }, INVALID],
      [{ action: 'join-colony', agentId }, 'walletAddress required'],
      [{ action: 'pay', agentId }, 'Invalid amount'],
      [{ action: 'pay', agentId, amount: 101 }, 'Amount exceeds $100 limit. Contact support for higher limits.'],
      [{ action: 'pay', agentId, amount: 1 }, 'Recipient required'],
      [{ action: 'pay', agentId, amount: 1, recipient: '0x12' }, 'Invalid recipient address'],
    ]
    for (const [body, error] of cases) expect(await ask(body)).toEqual([400, { error }])
  })

  const EXCEEDS = 'Amount exceeds $100 limit. Contact support for higher limits.'
  const AMOUNTS: [unknown, number | 'Invalid amount' | typeof EXCEEDS][] = [
    ...[0.000001, 0.1, 0.2, 0.3, 0.7, 1, 1.1, 1.005, 2.675, 9.99, 33.333333, 50, 64.1, 99.99, 99.999999, 100].map(
      (amount): [number, number] => [amount, Number(BigInt(Math.round(amount * 1e6)))],
    ),
    ...[100.01, 100.000001, 100.0000001, 101, 1e3, 1e21, 2 ** 53 + 2, Number.MAX_VALUE].map(
      (amount): [number, typeof EXCEEDS] => [amount, EXCEEDS],
    ),
    ...[
      0,
      -0,
      -1,
      -0.1,
      -1e21,
      1e-7,
      1.5e-7,
      5e-324,
      0.0000001,
      0.1 + 0.2,
      1.0000001,
      99.9999999,
      0.1234567,
      33.33333333333333,
      2 / 3,
      0.1 * 3,
      1.1 + 2.2,
      null,
      undefined,
      true,
      false,
      '',
      '0',
      '1',
      '1.5',
      ' 1',
      '1 ',
      '+1',
      '0x10',
      '1e2',
      '1,5',
      'NaN',
      'Infinity',
      '-0',
      [],
      [1],
      {},
      { amount: 1 },
    ].map((amount): [unknown, 'Invalid amount'] => [amount, 'Invalid amount']),
  ]
  test(`200 or 400 for ${AMOUNTS.length} amounts, each parsed exactly or refused`, async () => {
    expect(AMOUNTS.length).toBeGreaterThanOrEqual(60)
    await using double = await startColonyDouble()
    const { web, cookie, agentId, platform } = await openPaying(null, { environment: { X402_GATEWAY_URL: double.url } })
    for (const [amount, expected] of AMOUNTS) {
      const { status, body } = await readReported(post(web, { ...order, agentId, amount }, cookie))
      if (typeof expected !== 'number') {
        expect([amount, status, body]).toEqual([amount, 400, { error: expected }])
        continue
      }
      expect([amount, status]).toEqual([amount, 200])
      const row = platform.db
        .select()
        .from(walletPayments)
        .where(eq(walletPayments.id, body.paymentId ?? ''))
        .get()
      expect([amount, row?.amountMicroUsd]).toEqual([amount, expected])
      expect(double.asked['/gateway/pay']).toMatchObject({ amount })
    }
    // JSON has no NaN and no Infinity, so these texts are invalid.
    for (const text of ['NaN', 'Infinity', '01', '.5', '1.', '1_0']) {
      const body = `{"action":"pay","agentId":"${agentId}","amount":${text},"recipient":"${PAYEE}"}`
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...cookie }, body }
      expect((await web.request('/api/x402', init)).status).toBe(400)
    }
  })

  test.each([
    [PAYEE, true],
    [BASE58, true],
    [PAYEE.toUpperCase().replace('0X', '0x'), true],
    [`${PAYEE}0`, false],
    [PAYEE.slice(0, -1), false],
    [`0X${PAYEE.slice(2)}`, false],
    [`${PAYEE} `, false],
    [`${PAYEE}\n`, false],
    [BASE58.replace('9', '0'), false],
    [BASE58.replace('W', 'l'), false],
    [`I${BASE58.slice(1)}`, false],
    [BASE58.slice(0, 31), false],
    [`${BASE58}1`, false],
    ['vitalik.eth', false],
  ])('the recipient %j is valid: %p', async (recipient, isOne) => {
    await using double = await startColonyDouble()
    const { web, cookie, agentId } = await openPaying(null, { environment: { X402_GATEWAY_URL: double.url } })
    const answer = await reported(post(web, { ...order, agentId, recipient }, cookie))
    if (isOne) expect(answer[0]).toBe(200)
    else expect(answer).toEqual([400, { error: 'Invalid recipient address' }])
  })
})

describe("POST /api/x402 for a stranger's agent", () => {
  test('404 for every action, also with an external gateway, which gets no request', async () => {
    await using double = await startColonyDouble()
    for (const environment of [{}, { X402_GATEWAY_URL: double.url }]) {
      const { web, agentId, signIn, platform } = await openPaying(null, { environment })
      const { cookie } = await signIn('mallory@example.com')
      for (const action of ['fitness', 'pricing', 'join-colony', 'pay']) {
        const body = { ...order, action, agentId, walletAddress: PAYEE }
        expect(await reported(post(web, body, cookie))).toEqual([404, { error: 'Agent not found' }])
      }
      expect(platform.db.select().from(walletPayments).all()).toEqual([])
    }
    expect(double.asked).toEqual({})
  })
})

describe('the built-in colony', () => {
  test('GET /api/x402: 200 with the description and the number of participants, without identities', async () => {
    const { web, cookie, agentId } = await openPaying(null)
    const before = await reported(web.request('/api/x402'))
    expect(before).toEqual([
      200,
      {
        status: 'healthy',
        service: 'stead-colony',
        version: expect.any(String),
        gateway: 'http://localhost:3000/api/x402',
        agents: 0,
        colonies: 0,
        timestamp: expect.any(String),
      },
    ])
    const joined = await reported(post(web, { action: 'join-colony', agentId, walletAddress: PAYEE }, cookie))
    expect(joined).toEqual([
      200,
      expect.objectContaining({ success: true, ok: true, agentId, walletAddress: PAYEE, fitness: 0, tier: 'new' }),
    ])
    await post(web, { action: 'join-colony', agentId, walletAddress: PAYEE }, cookie)
    expect((await reported(web.request('/api/x402')))[1]).toMatchObject({ agents: 1, colonies: 1 })
  })

  test('200 with fitness and price computed from the agent’s activity', async () => {
    const { web, cookie, agentId, platform, user, clock } = await openPaying(null)
    const none = await read(Fitness, post(web, { action: 'fitness', agentId }, cookie))
    expect(none).toMatchObject({
      score: 0,
      tier: 'new',
      details: { prediction: 0, execution: 0, coordination: 0 },
      events: { prediction: 0, execution: 0, coordination: 0 },
    })
    const now = clock.now()
    await write(platform.db, (tx) => {
      for (let call = 0; call < 20; call++) {
        tx.insert(usageLogs)
          .values({ userId: user.id, agentId, model: 'm', success: call > 1, createdAt: now })
          .run()
      }
      addUptime(tx, agentId, now, { upMs: 3_000_000, downMs: 600_000, unknownMs: 0 })
      tx.insert(messageDays).values({ agentId, day: '2026-11-20', asked: 10, failed: 2, answered: 8 }).run()
    })
    const rated = await read(Fitness, post(web, { action: 'fitness', agentId }, cookie))
    expect(rated).toMatchObject({
      score: 84,
      tier: 'gold',
      details: { prediction: 90, execution: 83, coordination: 80 },
      events: { prediction: 20, coordination: 10 },
    })
    expect(await read(Pricing, post(web, { action: 'pricing', agentId }, cookie))).toEqual({
      success: true,
      agentId,
      tier: 'gold',
      pricing: { rate: 0.0075, discount: 25 },
      fitness: { score: 84, tier: 'gold' },
    })
  })

  test('503 for pay with the setting when there is no chain, 400 for unsupported payments; every attempt is in the audit log', async () => {
    const { web, cookie, agentId, platform } = await openPaying(null)
    const unset = await reported(post(web, { ...order, agentId }, cookie))
    expect(unset).toEqual([
      503,
      { error: 'Payment in USDC is not configured: set BASE_RPC_URL', code: 'NOT_CONFIGURED' },
    ])
    expect(await reported(post(web, { ...order, agentId, currency: 'DOGE' }, cookie))).toEqual([
      400,
      { error: 'Currency must be USDC or pathUSD' },
    ])
    expect((await reported(post(web, { ...order, agentId, recipient: BASE58 }, cookie)))[0]).toBe(400)
    const lines = platform.db.select().from(auditLog).where(eq(auditLog.action, 'x402.pay')).all()
    expect(lines.map(({ detail }) => detail)).toEqual(
      Array(3).fill(expect.objectContaining({ refused: expect.any(String) })),
    )
  })

  describe.skipIf(!hasAnvil)('on a chain', () => {
    let chain: TestChain
    beforeAll(async () => {
      chain = await startTokenChain(8453, USDC)
    })
    afterAll(() => chain.stop())

    test('200 for pay moves USDC from the agent’s wallet within its policy and adds an audit entry', async () => {
      const { web, cookie, agentId, wallet, platform, user } = await openPaying(chain.rpcUrl)
      await fund(chain, USDC, wallet.address, 10_000_000n)
      const before = await readToken(chain, USDC, PAYEE)
      const paid = await read(Paid, post(web, { ...order, agentId, endpoint: 'tts', method: 'card' }, cookie))
      expect(paid).toMatchObject({
        status: 'succeeded',
        amount: 1.5,
        currency: 'USDC',
        recipient: PAYEE,
        network: 'base',
      })
      expect(await readToken(chain, USDC, PAYEE)).toBe(before + 1_500_000n)

      const policy = json('PATCH', { agentId, perPayment: '2' }, cookie)
      expect((await web.request('/api/wallet/policy', policy)).status).toBe(200)
      const refused = await readReported(post(web, { ...order, agentId, amount: 3 }, cookie))
      expect([refused.status, refused.body.code]).toEqual([403, 'LIMIT_EXCEEDED'])
      const lines = platform.db.select().from(auditLog).where(eq(auditLog.action, 'x402.pay')).all()
      const common = { email: user.email, currency: 'USDC', recipient: PAYEE }
      expect(lines.map(({ detail }) => detail)).toEqual([
        expect.objectContaining({ ...common, amountMicroUsd: 1_500_000, method: 'card', paymentId: paid.paymentId }),
        expect.objectContaining({
          ...common,
          amountMicroUsd: 3_000_000,
          method: 'default',
          refused: expect.any(String),
        }),
      ])
      expect(await readToken(chain, USDC, PAYEE)).toBe(before + 1_500_000n)
    })

    test('402 for pay and an audit entry when the agent has no wallet', async () => {
      const test = await openPaying(chain.rpcUrl)
      const agentId = await addAgent(test, test.user.id)
      const { status, body } = await readReported(post(test.web, { ...order, agentId }, test.cookie))
      expect([status, body.code]).toEqual([402, 'NO_WALLET'])
      const lines = test.platform.db.select().from(auditLog).where(eq(auditLog.action, 'x402.pay')).all()
      expect(lines).toMatchObject([{ actor: test.user.id, target: agentId, detail: { refused: expect.any(String) } }])
    })

    test('200 for payments of one wallet in USDC and in pathUSD on their chains, each with separate nonces', async () => {
      await using other = await startTokenChain(4217, PATH_USD)
      const environment = { CLONE_RPC_URL: other.rpcUrl, CLONE_TOKEN_ADDRESS: PATH_USD }
      const { web, cookie, agentId, wallet, platform } = await openPaying(chain.rpcUrl, { environment })
      await fund(chain, USDC, wallet.address, 5_000_000n)
      await fund(other, PATH_USD, wallet.address, 5_000_000n)
      const before = await readToken(chain, USDC, PAYEE)
      const currencies = ['USDC', 'pathUSD', 'USDC', 'pathUSD']
      const pays = currencies.map((currency, index) =>
        post(web, { ...order, agentId, currency, amount: 1 + index / 10 }, cookie),
      )
      const paid = await Promise.all(pays.map((answer) => read(Paid, answer)))
      expect(paid.map(({ network }) => network)).toEqual(['base', 'tempo', 'base', 'tempo'])
      expect(await readToken(chain, USDC, PAYEE)).toBe(before + 2_200_000n)
      expect(await readToken(other, PATH_USD, PAYEE)).toBe(2_400_000n)
      const rows = platform.db.select().from(walletPayments).all()
      expect(rows.map(({ chainId, nonce }) => `${chainId}:${nonce}`).sort()).toEqual([
        '4217:0',
        '4217:1',
        '8453:0',
        '8453:1',
      ])
      const shown = await web.request(`/api/wallet?agentId=${agentId}`, { headers: cookie })
      expect(await shown.json()).toMatchObject({
        balances: [
          { currency: 'USDC', balance: '2.8' },
          { currency: 'pathUSD', balance: '2.6' },
        ],
      })
    })

    test('202 for pay above the threshold, and nothing moves before the owner approves', async () => {
      const { web, cookie, agentId, wallet } = await openPaying(chain.rpcUrl)
      await fund(chain, USDC, wallet.address, 10_000_000n)
      await web.request('/api/wallet/policy', json('PATCH', { agentId, approvalAbove: 1 }, cookie))
      const { status, body } = await readReported(post(web, { ...order, agentId }, cookie))
      expect([status, body.status]).toEqual([202, 'awaiting_approval'])
      expect(await readToken(chain, USDC, wallet.address)).toBe(10_000_000n)
    })
  })
})

test.each([
  ['/api/x402', { action: 'endpoints' }],
  ['/api/v1/gateway', {}],
])('POST %s: 429 when RATE_LIMIT_GATEWAY is exceeded', async (path, body) => {
  const { web } = await openPaying(null, { environment: { RATE_LIMIT_GATEWAY: '2' } })
  const ask = () => web.request(path, json('POST', body))
  for (let count = 0; count < 2; count++) expect((await ask()).status).not.toBe(429)
  expect((await ask()).status).toBe(429)
})

describe('an external gateway', () => {
  const openTestPlatform = async () => {
    const double = await startColonyDouble()
    const paying = await openPaying(null, { environment: { X402_GATEWAY_URL: double.url } })
    const ask = (body: object, headers: Record<string, string> = {}) =>
      post(paying.web, body, { ...paying.cookie, ...headers })
    const rows = () => paying.platform.db.select().from(walletPayments).all()
    return { ...paying, double, ask, rows, [Symbol.asyncDispose]: double[Symbol.asyncDispose] }
  }

  test('GET /api/x402: 200 with its health and address; 503 when it is unreachable or unhealthy', async () => {
    await using it = await openTestPlatform()
    it.double.answers['/health'] = { status: 200, body: { status: 'healthy', service: 'borg', agents: 7, colonies: 2 } }
    expect(await reported(it.web.request('/api/x402'))).toEqual([
      200,
      { status: 'healthy', service: 'borg', agents: 7, colonies: 2, gateway: it.double.url },
    ])
    it.double.answers['/health'] = { status: 500, body: {} }
    const ill = [503, { gateway: it.double.url, status: 'unreachable', error: 'Colony gateway answered 500' }]
    expect(await reported(it.web.request('/api/x402'))).toEqual(ill)
    const away = await openPaying(null, { environment: { X402_GATEWAY_URL: 'http://user:secret@127.0.0.1:1' } })
    expect(await reported(away.web.request('/api/x402'))).toEqual([
      503,
      { gateway: 'http://127.0.0.1:1', status: 'unreachable', error: 'Colony gateway unreachable' },
    ])
  })

  test('200 with its objects in the format of the interface and in ours', async () => {
    await using it = await openTestPlatform()
    const { agentId } = it
    it.double.answers[`/gateway/fitness/${agentId}`] = { status: 200, body: { agentId, fitness: 63, registered: true } }
    expect(await read(Fitness, it.ask({ action: 'fitness', agentId }))).toEqual({
      success: true,
      agentId,
      score: 63,
      tier: 'high',
      details: {},
      registered: true,
    })
    it.double.answers[`/gateway/fitness/${agentId}`] = {
      status: 200,
      body: { score: 88, tier: 'gold', details: { prediction: 90, execution: 80, coordination: 94 } },
    }
    expect(await read(Fitness, it.ask({ action: 'fitness', agentId }))).toMatchObject({
      score: 88,
      tier: 'gold',
      details: { prediction: 90, execution: 80, coordination: 94 },
    })
    const priced = { agentId, fitness: 63, pricing: { tier: 'high', multiplier: 0.75, base: 0.001 } }
    it.double.answers[`/gateway/pricing/${agentId}`] = { status: 200, body: priced }
    expect(await read(Pricing, it.ask({ action: 'pricing', agentId }))).toEqual({
      success: true,
      agentId,
      tier: 'high',
      pricing: { rate: 0.00075, discount: 25 },
      fitness: { score: 63, tier: 'high' },
    })
    const listed = {
      endpoints: [
        { name: 'tts', price: 0.03, currency: 'USDC' },
        { slug: 'stt', description: 'd', price: '$1' },
      ],
    }
    it.double.answers['/gateway/endpoints'] = { status: 200, body: listed }
    expect((await read(EndpointList, post(it.web, { action: 'endpoints' }))).endpoints).toEqual([
      { slug: 'tts', description: '', price: '0.03 USDC' },
      { slug: 'stt', description: 'd', price: '$1' },
    ])
    it.double.answers['/gateway/colony/join'] = { status: 200, body: { ok: true, agentId, fitness: 32 } }
    expect(await reported(it.ask({ action: 'join-colony', agentId, walletAddress: PAYEE }))).toEqual([
      200,
      { success: true, ok: true, agentId, fitness: 32 },
    ])
  })

  test('502, 503 or 500 with its message when it fails', async () => {
    await using it = await openTestPlatform()
    const { agentId } = it
    const answer = (status: number, body: unknown) => {
      for (const path of [`/gateway/fitness/${agentId}`, `/gateway/pricing/${agentId}`, '/gateway/endpoints']) {
        it.double.answers[path] = { status, body }
      }
    }
    const all = () =>
      Promise.all(['fitness', 'pricing', 'endpoints'].map((action) => reported(it.ask({ action, agentId }))))
    answer(500, {})
    expect(await all()).toEqual(
      Array(3).fill([502, { error: 'x402 gateway error', success: false, upstreamStatus: 500 }]),
    )
    answer(200, { nothing: 'of the kind' })
    expect(await all()).toEqual(Array(3).fill([500, { error: 'x402 gateway error', success: false }]))
    const away = await openPaying(null, { environment: { X402_GATEWAY_URL: 'http://127.0.0.1:1' } })
    const ask = (action: string) =>
      reported(post(away.web, { action, agentId: away.agentId, walletAddress: PAYEE }, away.cookie))
    const gone = [503, { error: 'Colony gateway unreachable' }]
    expect(await Promise.all(['fitness', 'pricing', 'endpoints', 'join-colony'].map(ask))).toEqual(Array(4).fill(gone))
    it.double.answers['/gateway/colony/join'] = { status: 402, body: { error: 'pay first' } }
    const joined = await reported(it.ask({ action: 'join-colony', agentId, walletAddress: PAYEE }))
    expect(joined).toEqual([402, { success: false, error: 'Colony join failed: 402 {"error":"pay first"}' }])
  })

  test('200 for pay, ordered once with its id, with the response of the gateway', async () => {
    await using it = await openTestPlatform()
    const paid = await read(Paid, it.ask({ ...order, agentId: it.agentId, endpoint: 'tts', currency: 'pathUSD' }))
    expect(paid).toMatchObject({ ok: true, status: 'succeeded', amount: 1.5, currency: 'pathUSD', endpoint: 'tts' })
    expect(it.double.asked['/gateway/pay']).toEqual({
      agentId: it.agentId,
      amount: 1.5,
      currency: 'pathUSD',
      recipient: PAYEE,
      endpoint: 'tts',
      method: 'default',
      paymentId: paid.paymentId,
    })
  })

  test.each([
    ['settles, then cut', 504, 'unknown', 'succeeded'],
    ['settles, then 502', 504, 'unknown', 'succeeded'],
    ['settles, then no JSON', 504, 'unknown', 'succeeded'],
    ['settles, tells another amount', 504, 'unknown', 'succeeded'],
    ['settles, tells another currency', 504, 'unknown', 'succeeded'],
    ['cut', 504, 'unknown', 'failed'],
    ['502', 504, 'unknown', 'failed'],
    ['402', 402, 'failed', 'failed'],
    ['400', 402, 'failed', 'failed'],
    ['refuses in a 200', 402, 'failed', 'failed'],
  ] as const)(
    'pay when the gateway %s: %i, then %s; the job finds %s and orders nothing again',
    async (fault, status, first, last) => {
      await using it = await openTestPlatform()
      it.double.fault = fault
      const { status: answered, body } = await readReported(it.ask({ ...order, agentId: it.agentId }))
      expect([answered, body.status]).toEqual([status, first])
      expect(it.rows()[0]?.status).toBe(first)
      for (let round = 0; round < 3; round++) {
        it.clock.advance(600_000)
        await settlePayments(it.platform)
      }
      expect(it.rows().map((row) => row.status)).toEqual([last])
      expect([...it.double.orders.values()]).toEqual([1])
      expect(it.double.settled.size).toBe(last === 'succeeded' ? 1 : 0)
    },
  )

  test.each([
    ['its recipient is removed', { recipients: ['0x9999999999999999999999999999999999999999'] }],
    ['the limit of a payment is lowered', { perPayment: '0.01' }],
    ['the wallet is frozen', { frozen: true }],
  ])('settlePayments sends no approved payment to the gateway when %s', async (_what, change) => {
    await using it = await openTestPlatform()
    const policy = (body: object) =>
      it.web.request('/api/wallet/policy', json('PATCH', { agentId: it.agentId, ...body }, it.cookie))
    await policy({ approvalAbove: '0.01' })
    expect((await reported(it.ask({ ...order, agentId: it.agentId })))[0]).toBe(202)
    const approve = { method: 'POST', headers: it.cookie }
    expect((await it.web.request(`/api/wallet/payments/${it.rows()[0]?.id}/approve`, approve)).status).toBe(200)
    expect((await policy(change)).status).toBe(200)
    await settlePayments(it.platform)
    expect(it.rows()).toMatchObject([{ status: 'failed', reason: expect.any(String), checkAt: null }])
    expect(it.double.orders.size).toBe(0)
  })

  test('pay rejects with upstream_timeout when the gateway does not respond: unknown, and settled by a query', async () => {
    await using it = await openTestPlatform()
    it.double.fault = 'hangs'
    const upstream = createColonyUpstream(it.double.url, { fetch, timeoutsMs: { pay: 1_000 } })
    const request = {
      agentId: it.agentId,
      amountMicroUsd: 1,
      recipient: PAYEE,
      currency: 'USDC',
      endpoint: null,
      method: 'default',
      identifier: null,
    }
    const signedIn = { ...it.user, plan: 'network', subscriptionId: null, isAdmin: false }
    const once = { made: null, note: () => undefined }
    const attempt = { user: signedIn, request, once, address: null, hasKey: false }
    await expect(pay({ ...it.platform, colonyUpstream: upstream }, attempt)).rejects.toMatchObject({
      kind: 'upstream_timeout',
    })
    it.clock.advance(600_000)
    await settlePayments(it.platform)
    expect(it.rows()[0]?.status).toBe('failed')
    expect([...it.double.orders.values()]).toEqual([1])
  })

  test('503 for pay when the gateway is unreachable: failed, and the same key may be tried again', async () => {
    await using it = await openTestPlatform()
    const { url } = it.double
    await it.double[Symbol.asyncDispose]()
    const key = { 'idempotency-key': 'again' }
    const { status, body } = await readReported(it.ask({ ...order, agentId: it.agentId }, key))
    expect([status, body]).toEqual([
      503,
      { error: 'Colony gateway unreachable', success: false, paymentId: expect.any(String), status: 'failed' },
    ])
    expect(url).toStartWith('http')
    expect((await reported(it.ask({ ...order, agentId: it.agentId }, key)))[0]).toBe(503)
    expect(it.rows().map((row) => row.status)).toEqual(['failed', 'failed'])
  })

  test('POST /api/wallet/payments/:id/resolve: 200 when the owner resolves an unknown payment, which is never ordered again', async () => {
    await using it = await openTestPlatform()
    Object.assign(it.double, { fault: 'settles, then cut', knowsPayments: false })
    await it.ask({ ...order, agentId: it.agentId })
    for (let round = 0; round < 20; round++) {
      it.clock.advance(600_000)
      await settlePayments(it.platform)
    }
    expect(it.rows()[0]).toMatchObject({ status: 'unknown', reason: 'The gateway did not answer in time' })
    expect([...it.double.orders.values()]).toEqual([1])

    const path = `/api/wallet/payments/${it.rows()[0]?.id}/resolve`
    const resolve = (cookie: Record<string, string>, status = 'succeeded') =>
      it.web.request(path, json('POST', { status }, cookie))
    expect((await resolve((await it.signIn('mallory@example.com')).cookie)).status).toBe(404)
    const own = { cookie: `service-session=${await it.platform.sessions.create(it.user.id)}` }
    expect((await resolve(own, 'perhaps')).status).toBe(400)
    expect((await resolve(own)).status).toBe(200)
    expect(it.rows()[0]).toMatchObject({ status: 'succeeded', decidedBy: it.user.id })
    expect((await resolve(own, 'failed')).status).toBe(409)
    expect([...it.double.orders.values()]).toEqual([1])
  })

  test('one payment for 200 concurrent requests with one key, for 50 without a key, and per payment identifier', async () => {
    await using it = await openTestPlatform()
    const body = { ...order, agentId: it.agentId }
    const idsOf = async (answers: Promise<Response>[]) =>
      new Set(await Promise.all(answers.map(async (answer) => (await read(Paid, answer)).paymentId)))
    const keyed = await idsOf(Array.from({ length: 200 }, () => it.ask(body, { 'idempotency-key': 'one' })))
    expect([keyed.size, it.double.orders.size]).toEqual([1, 1])
    const other = { ...body, amount: 2 }
    const mismatch = await readReported(it.ask(other, { 'idempotency-key': 'one' }))
    expect([mismatch.status, mismatch.body.code]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    const id = { 'payment-identifier': { info: { id: 'order-0123456789abcdef' } } }
    const named = await idsOf(Array.from({ length: 200 }, () => it.ask({ ...other, extensions: id })))
    expect([named.size, it.double.orders.size]).toEqual([1, 2])
    expect((await reported(it.ask({ ...other, amount: 3, extensions: id })))[0]).toBe(409)
    const third = { ...body, amount: 4 }
    const alike = await idsOf(Array.from({ length: 50 }, () => it.ask(third)))
    expect(alike.size).toBe(1)
    expect([...it.double.orders.values()]).toEqual([1, 1, 1])
    it.clock.advance(61_000)
    await it.ask(third)
    expect(it.double.orders.size).toBe(4)
  })

  test('unknown and queried later when the process is killed between order and response; failed when killed before the order', async () => {
    await using it = await openTestPlatform()
    it.double.fault = 'settles'
    await it.ask({ ...order, agentId: it.agentId })
    await write(it.platform.db, (tx) =>
      tx.update(walletPayments).set({ status: 'sent', finalAt: null, checkAt: it.clock.now() }).run(),
    )
    await settlePayments(it.platform)
    expect(it.rows()[0]?.status).toBe('succeeded')
    await write(it.platform.db, (tx) =>
      tx.update(walletPayments).set({ status: 'created', finalAt: null, checkAt: it.clock.now() }).run(),
    )
    await settlePayments(it.platform)
    expect(it.rows()[0]).toMatchObject({ status: 'failed', reason: 'Interrupted before it was sent' })
    expect([...it.double.orders.values()]).toEqual([1])
  })

  test('403 when the policy of the wallet forbids the payment', async () => {
    await using it = await openTestPlatform()
    await it.web.request('/api/wallet/policy', json('PATCH', { agentId: it.agentId, perDay: '2' }, it.cookie))
    const codes = await Promise.all(
      [1.1, 1.2, 1.3].map(async (amount) => (await it.ask({ ...order, agentId: it.agentId, amount })).status),
    )
    expect(codes.sort()).toEqual([200, 403, 403])
    expect(it.double.orders.size).toBe(1)
  })

  test('200 for a key with the scope to pay, 403 for a read-only key', async () => {
    await using it = await openTestPlatform()
    const keyWith = async (scopes: string[]) => {
      const made = await it.web.request('/api/keys', json('POST', { name: 'k', scopes }, it.cookie))
      return bearer(((await made.json()) as { key: string }).key)
    }
    const body = { ...order, agentId: it.agentId }
    expect((await post(it.web, body, await keyWith(['read']))).status).toBe(403)
    expect((await post(it.web, body, await keyWith(['payments']))).status).toBe(200)
  })
})
