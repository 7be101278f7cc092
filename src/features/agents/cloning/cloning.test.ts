import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { type Address, type Hex, parseAbi } from 'viem'
import { devAccount, hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import { TOKEN_CODE } from '../../../../tests/harness/chain/contract-code.ts'
import { startTestChain, type TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { PlanName } from '../../accounts/plans/plans.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import { insertAgent } from '../registry/agents.ts'
import { changeSettings } from '../registry/config.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { Cloned, CloneService } from './schemas.ts'

const CHAIN_ID = 4217
const TOKEN: Address = '0x1111111111111111111111111111111111111111'
const OTHER_TOKEN: Address = '0x2222222222222222222222222222222222222222'
const TREASURY: Address = '0x3333333333333333333333333333333333333333'
const ONE = 1_000_000n
const DAY_MS = 86_400_000
const TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 amount)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function transferWithMemo(address to, uint256 amount, bytes32 memo)',
  'function transferTwice(address to, uint256 amount)',
])
const SETTINGS = { CLONE_TOKEN_ADDRESS: TOKEN, CLONE_PAY_TO: TREASURY }
const NOT_VERIFIED = {
  error: 'Invalid payment proof — transaction not verified on the payment chain',
  code: 'PAYMENT_NOT_VERIFIED',
  reason: expect.any(String),
}

/** Creates a platform and Ada with an agent and the wallets of `accounts`. */
async function openTest(
  rpcUrl: string | null,
  { plan = 'network' as PlanName | null, accounts = [0], environment = {} } = {},
) {
  const test = testPlatform({ environment: { ...SETTINGS, ...(rpcUrl && { CLONE_RPC_URL: rpcUrl }), ...environment } })
  const { user, cookie } = await test.signIn('ada@example.com', plan)
  const parent = await write(test.platform.db, (tx) => {
    for (const index of accounts) {
      const address = devAccount(index).address.toLowerCase()
      tx.insert(wallets).values({ chainId: 8453, address, userId: user.id, createdAt: test.clock.now() }).run()
    }
    return insertParent(test, tx, user.id)
  })
  const clone = (body: unknown, headers: Record<string, string> = {}) =>
    test.web.request('/api/agents/clone', json('POST', body, { ...cookie, ...headers }))
  return {
    ...test,
    user,
    cookie,
    parent,
    clone,
    cloneWith: (proof: Proof, headers = {}) =>
      clone({ parentAgentId: parent.id, name: 'Bo', paymentProof: toProof(proof) }, headers),
    agent: (id: string) => test.platform.db.select().from(agents).where(eq(agents.id, id)).get(),
    claims: () => countRows(test.platform.db).clone_payments,
  }
}

function insertParent(test: ReturnType<typeof testPlatform>, tx: Tx, ownerId: string): AgentRow {
  const deps = { clock: test.clock, sealer: test.platform.sealer }
  const usual = { name: 'Ada', model: 'openai/gpt-4o', plan: 'solo', aiProvider: 'groq', status: 'running' } as const
  const agent = insertAgent(deps, tx, { ...usual, ownerId })
  return changeSettings(deps, tx, agent, { skills: ['weather'], telegramToken: '1:canary-telegram', apiKey: 'canary' })
}

type Proof = { hash: Hex; from?: Address; [field: string]: unknown }

function toProof({ hash, ...fields }: Proof) {
  return {
    transactionHash: hash,
    amount: '1.0',
    currency: 'pathUSD',
    chainId: CHAIN_ID,
    from: devAccount(0).address,
    to: TREASURY,
    timestamp: Math.floor(Date.now() / 1000),
    ...fields,
  }
}

describe.skipIf(!hasAnvil)('clones on a real chain', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await startTestChain(CHAIN_ID)
    await chain.putCode(TOKEN, TOKEN_CODE)
    await chain.putCode(OTHER_TOKEN, TOKEN_CODE)
    for (const to of [TOKEN, OTHER_TOKEN]) {
      for (const index of [0, 1]) await call('mint', [devAccount(index).address, 1000n * ONE], { to })
    }
  })
  afterAll(() => chain?.stop())
  let snapshot: Hex
  beforeEach(async () => {
    if (snapshot) await chain.client.revert({ id: snapshot })
    snapshot = await chain.client.snapshot()
  })

  const call = (functionName: string, args: readonly unknown[], options: { to?: Address; from?: number } = {}) =>
    chain.call({ to: TOKEN, abi: TOKEN_ABI, functionName, args, ...options })
  const pay = (amount = ONE, options: { to?: Address; from?: number; payee?: Address } = {}) => {
    const { payee = TREASURY, ...rest } = options
    return call('transfer', [payee, amount], rest)
  }

  test("POST /api/agents/clone: 200 with the next generation, the parent's settings and no secrets", async () => {
    const { cloneWith, agent, parent, user, platform } = await openTest(chain.rpcUrl)
    const hash = await pay()
    const response = await cloneWith({ hash })
    expect(response.status).toBe(200)
    const body = await response.json()
    const { agentId } = Cloned.parse(body)
    expect(body).toEqual({
      success: true,
      agentId: expect.stringMatching(/^bo-[0-9a-f]{8}$/),
      walletAddress: expect.stringMatching(/^0x[0-9a-f]{40}$/),
      parentAgentId: parent.id,
      generation: 2,
      transactionHash: hash,
      specialization: 'general',
      status: 'provisioning',
      message: expect.stringContaining('Bo'),
    })
    expect(agent(agentId)).toMatchObject({
      ownerId: user.id,
      parentId: parent.id,
      generation: 2,
      specialization: 'general',
      model: 'openai/gpt-4o',
      aiProvider: 'groq',
      config: '{"skills":["weather"]}',
      secretConfig: null,
      status: 'provisioning',
    })
    expect(countRows(platform.db)).toMatchObject({ clone_payments: 1, jobs: 1, deployments: 1 })
  })

  test('POST /api/agents/clone: 200 when the parent sleeps, which keeps sleeping', async () => {
    const { cloneWith, agent, parent, platform } = await openTest(chain.rpcUrl)
    await write(platform.db, (tx) => tx.update(agents).set({ status: 'sleeping' }).run())
    const response = await cloneWith({ hash: await pay() })
    expect(response.status).toBe(200)
    const { agentId } = await read(Cloned, response)
    expect([agent(agentId)?.status, agent(parent.id)?.status]).toEqual(['provisioning', 'sleeping'])
  })

  test("POST /api/agents/clone: 200 with a given specialization and generation, also for a clone's clone", async () => {
    const { clone, parent } = await openTest(chain.rpcUrl)
    const ask = async (parentAgentId: string, more: object) => {
      const paymentProof = toProof({ hash: await pay(), timestamp: Date.now() })
      return read(Cloned, clone({ parentAgentId, name: 'Bo', paymentProof, ...more }))
    }
    const child = await ask(parent.id, { specialization: 'booking' })
    expect(child).toMatchObject({ specialization: 'booking', generation: 2 })
    expect(await ask(child.agentId, {})).toMatchObject({ generation: 3 })
    expect(await ask(parent.id, { generation: 7 })).toMatchObject({ generation: 8 })
  })

  test('POST /api/agents/clone: 200 for one of 20 concurrent requests with one payment, 409 for the others', async () => {
    const { cloneWith, claims, platform } = await openTest(chain.rpcUrl)
    const hash = await pay()
    const upper: Hex = `0x${hash.slice(2).toUpperCase()}`
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => cloneWith({ hash: index % 2 ? hash : upper })),
    )
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(19)
    const refused = responses.find(({ status }) => status === 409)
    expect(await refused?.json()).toEqual({
      error: 'This payment was already used for a clone',
      code: 'PAYMENT_USED',
    })
    expect([claims(), countRows(platform.db).agents]).toEqual([1, 2])
  })

  test('POST /api/agents/clone: 409 when the clone of the payment was deleted', async () => {
    const { cloneWith, web, cookie, claims } = await openTest(chain.rpcUrl)
    const hash = await pay()
    const { agentId } = await read(Cloned, cloneWith({ hash }))
    await web.request(`/api/agents/${agentId}`, { method: 'DELETE', headers: cookie })
    expect((await cloneWith({ hash })).status).toBe(409)
    expect(claims()).toBe(1)
  })

  test('POST /api/agents/clone: 200 twice when a transaction has two transfers, then 409', async () => {
    const { cloneWith } = await openTest(chain.rpcUrl)
    const hash = await call('transferTwice', [TREASURY, ONE])
    const statuses = []
    for (let index = 0; index < 3; index++) statuses.push((await cloneWith({ hash })).status)
    expect(statuses).toEqual([200, 200, 409])
  })

  test('POST /api/agents/clone: 200 with the same clone when the Idempotency-Key is repeated', async () => {
    const { cloneWith, platform } = await openTest(chain.rpcUrl)
    const hash = await pay()
    const key = { 'idempotency-key': 'clone-1' }
    const proof = { hash, timestamp: 1_790_000_000 }
    const bodies = await Promise.all([1, 2, 3].map(async () => (await cloneWith(proof, key)).json()))
    expect(bodies[1]).toEqual(bodies[0])
    expect(bodies[2]).toEqual(bodies[0])
    expect(countRows(platform.db).agents).toBe(2)
    expect((await cloneWith({ ...proof, timestamp: 1 }, key)).status).toBe(409)
  })

  test('POST /api/agents/clone: 402 when another user paid without the caller’s memo', async () => {
    const { cloneWith, web, cookie, claims } = await openTest(chain.rpcUrl)
    const from = devAccount(1).address
    expect((await cloneWith({ hash: await pay(ONE, { from: 1 }), from })).status).toBe(402)
    const { memo } = await read(CloneService, web.request('/api/agents/clone', { headers: cookie }))
    const wrong = await call('transferWithMemo', [TREASURY, ONE, `0x${'1'.repeat(64)}`], { from: 1 })
    expect((await cloneWith({ hash: wrong, from })).status).toBe(402)
    const right = await call('transferWithMemo', [TREASURY, ONE, memo], { from: 1 })
    expect((await cloneWith({ hash: right, from })).status).toBe(200)
    expect((await cloneWith({ hash: right, from })).status).toBe(409)
    expect(claims()).toBe(1)
  })

  test.each<[string, () => Promise<Proof>]>([
    ['a transaction that does not exist', async () => ({ hash: `0x${'a'.repeat(64)}` })],
    ['a hash that cannot be one', async () => ({ hash: '0x123' })],
    ['the wrong token', async () => ({ hash: await pay(ONE, { to: OTHER_TOKEN }) })],
    ['the wrong payee', async () => ({ hash: await pay(ONE, { payee: devAccount(5).address }) })],
    ['too little', async () => ({ hash: await pay(ONE - 1n) })],
    ['less than the proof says', async () => ({ hash: await pay(ONE), amount: '1.000001' })],
    ['a claim below the price', async () => ({ hash: await pay(ONE / 2n), amount: '0.5' })],
    ['another payer than the proof says', async () => ({ hash: await pay(), from: devAccount(1).address })],
    ['another payee than the proof says', async () => ({ hash: await pay(), to: devAccount(5).address })],
    ['another chain', async () => ({ hash: await pay(), chainId: 1 })],
    ['another currency', async () => ({ hash: await pay(), currency: 'USDC' })],
    ['a transaction that failed', async () => ({ hash: await pay(5000n * ONE), amount: '5000' })],
    [
      'a transaction that is in no block yet',
      async () => {
        await chain.client.setAutomine(false)
        const transfer = { to: TOKEN, abi: TOKEN_ABI, functionName: 'transfer', args: [TREASURY, ONE] }
        return { hash: await chain.submit(transfer) }
      },
    ],
    [
      'a transaction that a reorganization took away',
      async () => {
        const id = await chain.client.snapshot()
        const hash = await pay()
        await chain.client.revert({ id })
        return { hash }
      },
    ],
    [
      'a payment of more than 24 hours ago by the chain’s clock',
      async () => {
        const hash = await pay()
        await chain.client.increaseTime({ seconds: DAY_MS / 1000 + 60 })
        await chain.client.mine({ blocks: 1 })
        return { hash }
      },
    ],
  ])('POST /api/agents/clone: 402 for %s, and nothing is written', async (_what, prepare) => {
    const { cloneWith, platform } = await openTest(chain.rpcUrl)
    const proof = await prepare()
    const before = dumpTables(platform.db)
    const response = await cloneWith(proof)
    await chain.client.setAutomine(true)
    expect([response.status, await response.json()]).toEqual([402, NOT_VERIFIED])
    expect(dumpTables(platform.db)).toBe(before)
  })

  test('POST /api/agents/clone: 402 when the payment is older than 24 hours', async () => {
    const { cloneWith, clock } = await openTest(chain.rpcUrl)
    const hash = await pay()
    clock.advance(DAY_MS + 60_000)
    expect((await cloneWith({ hash })).status).toBe(402)
    clock.advance(-120_000)
    expect((await cloneWith({ hash })).status).toBe(200)
  })

  test('POST /api/agents/clone: 429 at the cap, 402 without a subscription, and the payment stays usable', async () => {
    const { cloneWith, claims } = await openTest(chain.rpcUrl, { plan: 'solo' })
    const hash = await pay()
    const full = await cloneWith({ hash })
    expect([full.status, await full.json()]).toEqual([
      429,
      { error: 'Agent limit reached for solo tier', current: 1, limit: 1 },
    ])
    expect(claims()).toBe(0)
    const unpaid = await openTest(chain.rpcUrl, { plan: null })
    expect((await unpaid.cloneWith({ hash })).status).toBe(402)
    expect(unpaid.claims()).toBe(0)
    const admin = await openTest(chain.rpcUrl, { environment: { ADMIN_EMAILS: 'ada@example.com' }, plan: null })
    expect((await admin.cloneWith({ hash })).status).toBe(200)
  })

  test('POST /api/agents/clone: 503 when the chain does not respond or is another one, and the payment stays usable', async () => {
    const hash = await pay()
    const other = await startTestChain(1)
    const hanging = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{', { status: 502 }) })
    try {
      for (const rpcUrl of ['http://127.0.0.1:1', other.rpcUrl, `http://127.0.0.1:${hanging.port}`]) {
        const { cloneWith, claims } = await openTest(rpcUrl)
        const response = await cloneWith({ hash }, { 'idempotency-key': 'k' })
        expect(response.status).toBe(503)
        expect(await response.json()).toEqual({ error: expect.stringContaining('The chain cannot be asked') })
        expect(claims()).toBe(0)
      }
    } finally {
      await hanging.stop(true)
      await other.stop()
    }
    const { cloneWith } = await openTest(chain.rpcUrl)
    expect((await cloneWith({ hash }, { 'idempotency-key': 'k' })).status).toBe(200)
  })

  test('POST /api/agents/clone: 404 when the parent is missing or of another user, and the payment stays usable', async () => {
    const { clone, signIn, platform, clock, claims, cloneWith } = await openTest(chain.rpcUrl)
    const eve = await signIn('eve@example.com', 'network')
    const foreign = await write(platform.db, (tx) =>
      insertAgent({ clock, sealer: platform.sealer }, tx, {
        ...{ name: 'Eve', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' },
        ownerId: eve.user.id,
      }),
    )
    const hash = await pay()
    for (const parentAgentId of [foreign.id, 'missing-00000000']) {
      const response = await clone({ parentAgentId, name: 'Bo', paymentProof: toProof({ hash }) })
      expect([response.status, await response.json()]).toEqual([404, { error: 'Agent not found' }])
    }
    expect(claims()).toBe(0)
    expect((await cloneWith({ hash })).status).toBe(200)
  })
})

test.each<[unknown, string]>([
  [{}, 'Missing required fields: parentAgentId, name, paymentProof'],
  [{ parentAgentId: 'a-1' }, 'Missing required fields: parentAgentId, name, paymentProof'],
  [{ parentAgentId: 'a-1', name: 'Bo' }, 'Missing required fields: parentAgentId, name, paymentProof'],
  [{ parentAgentId: 'a-1', name: 'Bo', specialization: 'x', paymentProof: toProof({ hash: '0x1' }) }, 'Invalid spec'],
  [{ parentAgentId: 'a-1', name: 'Bo', generation: 0, paymentProof: toProof({ hash: '0x1' }) }, 'generation must be'],
  ...(['transactionHash', 'amount', 'currency', 'chainId', 'from', 'to', 'timestamp'] as const).map(
    (field): [unknown, string] => [
      { parentAgentId: 'a-1', name: 'Bo', paymentProof: { ...toProof({ hash: '0x1' }), [field]: undefined } },
      `paymentProof.${field} `,
    ],
  ),
  ...(['1e6', '-1', '0x1', '', '1.', 1] as const).map((amount): [unknown, string] => [
    { parentAgentId: 'a-1', name: 'Bo', paymentProof: toProof({ hash: '0x1', amount }) },
    'paymentProof.amount must be a decimal text',
  ]),
])('POST /api/agents/clone: 400 when the body is %j', async (body, error) => {
  const { clone } = await openTest(null)
  const response = await clone(body)
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: expect.stringContaining(error) })
})

test('POST /api/agents/clone: 401 without a session, 503 when unconfigured or switched off', async () => {
  const { web, cloneWith } = await openTest(null, { environment: { CLONE_PAY_TO: '' } })
  expect((await web.request('/api/agents/clone', json('POST', {}))).status).toBe(401)
  const unset = await cloneWith({ hash: `0x${'a'.repeat(64)}` })
  expect([unset.status, await unset.json()]).toEqual([
    503,
    { error: 'Payment for clones is not configured: set CLONE_RPC_URL and CLONE_PAY_TO', code: 'NOT_CONFIGURED' },
  ])
  const off = await openTest(null, { environment: { KILL_SWITCH: 'true' } })
  const response = await off.cloneWith({ hash: `0x${'a'.repeat(64)}` })
  expect([response.status, await response.json()]).toEqual([
    503,
    { error: 'Provisioning is temporarily disabled. Contact support.' },
  ])
})

test('GET /api/agents/clone: 200 for everyone, with a memo when signed in', async () => {
  const { web, cookie, signIn } = await openTest(null)
  const response = await web.request('/api/agents/clone')
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    service: 'stead-clone',
    version: expect.any(String),
    protocol: 'x402-tempo',
    clonePrice: '1.0 pathUSD',
    chainId: 4217,
    configured: false,
    tokenAddress: TOKEN,
    payTo: TREASURY,
  })
  const eve = await signIn('eve@example.com')
  const memoOf = async (headers: Record<string, string>) =>
    (await read(CloneService, web.request('/api/agents/clone', { headers }))).memo
  const [mine, hers] = [await memoOf(cookie), await memoOf(eve.cookie)]
  expect(mine).toMatch(/^0x[0-9a-f]{64}$/)
  expect(hers).not.toBe(mine)
  expect(await memoOf(cookie)).toBe(mine)
})
