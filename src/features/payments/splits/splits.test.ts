import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import type { TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import {
  addAgent,
  fund,
  openPaying,
  type Paying,
  readToken,
  startTokenChain,
  USDC,
} from '../../../../tests/harness/paying-platform.ts'
import { INTERNAL_KEY } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { settlePayments } from '../wallets/decide.ts'
import { managedWallets, walletPayments } from '../wallets/tables.ts'
import { QueuedSplit, SplitDetail, SplitPage } from './schemas.ts'
import { followSplits, settleSplit } from './settle-split.ts'
import { royaltyParts } from './tables.ts'

const PATH = '/api/underground/splits'
const WALLETS = '/api/underground/wallets'
const OPERATOR = bearer(INTERNAL_KEY)
const DOLLAR = 1_000_000n
const Detail = z.object({ split: SplitDetail })

let payees = 0
/** Returns an address without payments. */
const newPayee = () => `0x${(++payees).toString(16).padStart(40, 'b')}`

type Recipient = { address: string; share: number | string }
const among = (...shares: (number | string)[]): Recipient[] => shares.map((share) => ({ address: newPayee(), share }))

function toBody({ user, agentId, wallet }: Paying, recipients: Recipient[], change: Record<string, unknown> = {}) {
  const named = { userId: user.id, agentId, fromAddress: wallet.address, name: 'May' }
  return { ...named, totalAmount: '100', recipients, ...change }
}

const ask = (paying: Paying, body: unknown, headers: Record<string, string> = OPERATOR) =>
  paying.backend.request(PATH, json('POST', body, headers))

async function detailOf({ backend }: Paying, id: number): Promise<SplitDetail> {
  return (await read(Detail, backend.request(`${PATH}/${id}`, { headers: OPERATOR }))).split
}

/** Runs the jobs, advancing the clock, until the split has ended. */
async function settle(paying: Paying, id: number): Promise<SplitDetail> {
  const { platform, clock } = paying
  return until('the end of the split', async () => {
    await followSplits(platform)
    await settlePayments(platform)
    const split = await detailOf(paying, id)
    if (split.completedAt !== null) return split
    clock.advance(2000)
    return null
  })
}

test('POST /api/underground/splits: 200 queued, which stays so with a reason when there is no chain', async () => {
  const paying = await openPaying(null)
  const response = await ask(paying, toBody(paying, among(50, 30, 20), { totalAmount: '0.000007' }))
  expect([response.status, await response.json()]).toEqual([200, { success: true, splitId: 1, status: 'queued' }])
  await followSplits(paying.platform)
  await settleSplit(paying.platform, 1)
  expect(await detailOf(paying, 1)).toMatchObject({
    status: 'queued',
    reason: 'Payment in USDC is not configured: set BASE_RPC_URL',
    totalAmount: '0.000007',
    recipients: [
      { share: '50', amount: '0.000004', status: 'queued', transactionHash: null },
      { share: '30', amount: '0.000002', status: 'queued' },
      { share: '20', amount: '0.000001', status: 'queued' },
    ],
  })
})

test('POST /api/underground/splits: 200 with thirds of a dollar that sum to a dollar', async () => {
  const paying = await openPaying(null)
  const shares = ['33.333333', '33.333333', '33.333334']
  const { splitId } = await read(QueuedSplit, ask(paying, toBody(paying, among(...shares), { totalAmount: 1 })))
  const { recipients } = await detailOf(paying, splitId)
  expect(recipients.map(({ amount }) => amount)).toEqual(['0.333333', '0.333333', '0.333334'])
})

test('POST /api/underground/splits: 200 with 500 recipients; one split per Idempotency-Key, 409 with another body', async () => {
  const paying = await openPaying(null)
  const body = toBody(paying, among(...Array.from({ length: 500 }, () => 0.2)), { totalAmount: '1000000.000001' })
  const headers = { ...OPERATOR, 'idempotency-key': 'may' }
  const answers = await Promise.all(Array.from({ length: 50 }, () => read(QueuedSplit, ask(paying, body, headers))))
  expect(new Set(answers.map(({ splitId }) => splitId))).toEqual(new Set([1]))
  const parts = paying.platform.db.select().from(royaltyParts).all()
  expect([parts.length, parts.reduce((sum, part) => sum + part.amountMicroUsd, 0)]).toEqual([500, 1_000_000_000_001])
  expect((await ask(paying, { ...body, name: 'June' }, headers)).status).toBe(409)
})

const wrong: [Record<string, unknown>, string][] = [
  [{ userId: undefined }, 'userId is required'],
  [{ agentId: '' }, 'agentId is required'],
  [{ name: undefined }, 'name is required'],
  [{ name: 'x'.repeat(201) }, 'name must be at most 200'],
  [{ fromAddress: '0x12' }, 'fromAddress must be an address'],
  ...[undefined, '', '0', 0, -1, '-1', '1e3', '0.0000001', '1,5', 'NaN', null, 0.1 + 0.2].map(
    (totalAmount): [Record<string, unknown>, string] => [{ totalAmount }, 'totalAmount must be an amount'],
  ),
  [{ recipients: undefined }, 'recipients must be a list'],
  [{ recipients: [] }, 'recipients must be a list'],
  [{ recipients: among(...Array.from({ length: 1001 }, () => 0)) }, 'recipients must be a list'],
  [{ recipients: [{ address: 'bo', share: 100 }] }, 'recipients.address must be an address'],
  ...[-1, 101, '1e2', '33.3333333', Number.NaN, null].map((share): [Record<string, unknown>, string] => [
    { recipients: [{ address: newPayee(), share }] },
    'recipients.share must be a percentage',
  ]),
  [{ recipients: among(50, 49.999999) }, 'The shares must add up to exactly 100'],
  [{ recipients: among(50, 50.000001) }, 'The shares must add up to exactly 100'],
  [{ recipients: among(60, 60) }, 'The shares must add up to exactly 100'],
]
test.each(wrong)('POST /api/underground/splits: 400 when the body is %j', async (change, error) => {
  const paying = await openPaying(null)
  const response = await ask(paying, { ...toBody(paying, among(100)), ...change })
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: expect.stringContaining(error) })
})

test('GET, POST /api/underground/splits and GET /api/underground/splits/:id: 200 for own splits in both APIs; 404 for another user’s, 401 without a session', async () => {
  const paying = await openPaying(null)
  const { web, backend, cookie, user, signIn } = paying
  const eve = await signIn('eve@example.com', 'network')
  const { userId: _, ...body } = toBody(paying, among(100))
  const asUser = (id: string) => ({ ...OPERATOR, 'x-user-id': id })
  const { splitId } = await read(QueuedSplit, web.request(PATH, json('POST', body, cookie)))
  expect((await ask(paying, body, asUser(user.id))).status).toBe(200)
  for (const [response, error] of [
    [web.request(PATH, json('POST', body, eve.cookie)), 'Agent not found'],
    [web.request(PATH, json('POST', { ...body, userId: eve.user.id }, cookie)), 'User not found'],
    [web.request(PATH, json('POST', { ...body, fromAddress: newPayee() }, cookie)), 'Wallet not found'],
    [web.request(`${PATH}/${splitId}`, { headers: eve.cookie }), 'Split not found'],
    [backend.request(`${PATH}/${splitId}`, { headers: asUser(eve.user.id) }), 'Split not found'],
    [web.request(`${PATH}/x`, { headers: cookie }), 'Split not found'],
  ] as const) {
    expect([(await response).status, await (await response).json()]).toEqual([404, { error }])
  }
  const list = async (headers: Record<string, string>) =>
    (await read(SplitPage, web.request(PATH, { headers }))).splits.map(({ id }) => id)
  expect([await list(cookie), await list(eve.cookie)]).toEqual([[2, 1], []])
  for (const headers of [{}, bearer('wrong')]) expect((await ask(paying, body, headers)).status).toBe(401)
  expect((await web.request(PATH)).status).toBe(401)
})

test('POST /api/underground/wallets: 201, and the same wallet the second time', async () => {
  const { backend, agentId, user, wallet, platform } = await openPaying(null)
  const make = (body: object, headers: Record<string, string> = OPERATOR) =>
    backend.request(WALLETS, json('POST', body, headers))
  const known = await make({ userId: user.id, agentId })
  expect([known.status, await known.json()]).toEqual([201, { address: wallet.address, agentId, userId: user.id }])
  expect(platform.db.select().from(managedWallets).all()).toHaveLength(1)
  expect((await make({ userId: user.id })).status).toBe(400)
  for (const headers of [{}, bearer('wrong')])
    expect((await make({ userId: user.id, agentId }, headers)).status).toBe(401)
})

describe('with the internal key', () => {
  const strangers = async () => {
    const paying = await openPaying(null)
    const eve = await paying.signIn('eve@example.com')
    const { user, agentId } = paying
    const own = { userId: user.id, agentId }
    const asEve = { ...OPERATOR, 'x-user-id': eve.user.id }
    const cases: [object, Record<string, string>, string][] = [
      [{ ...own, userId: 'usr_missing' }, OPERATOR, 'User not found'],
      [{ ...own, agentId: 'missing' }, OPERATOR, 'Agent not found'],
      [{ userId: eve.user.id, agentId }, OPERATOR, 'Agent not found'],
      [own, asEve, 'User not found'],
      [{ userId: eve.user.id, agentId }, asEve, 'Agent not found'],
    ]
    return { ...paying, cases }
  }

  test('POST /api/underground/wallets: 404 when user or agent is missing, or the agent is another user’s', async () => {
    const { backend, platform, cases } = await strangers()
    for (const [body, headers, error] of cases) {
      const response = await backend.request(WALLETS, json('POST', body, headers))
      expect([response.status, await response.json()]).toEqual([404, { error }])
    }
    expect(platform.db.select().from(managedWallets).all()).toHaveLength(1)
  })

  test('POST /api/underground/splits: 404 when user or agent is missing, or the agent is another user’s', async () => {
    const paying = await strangers()
    for (const [change, headers, error] of paying.cases) {
      const response = await ask(paying, { ...toBody(paying, among(100)), ...change }, headers)
      expect([response.status, await response.json()]).toEqual([404, { error }])
    }
    expect((await read(SplitPage, paying.backend.request(PATH, { headers: OPERATOR }))).splits).toEqual([])
  })
})

test('GET /api/underground/wallets/:address/balance: 400 without userId, 404 for another user’s wallet, 503 without a chain', async () => {
  const { backend, user, wallet, signIn } = await openPaying(null)
  const eve = await signIn('eve@example.com')
  const get = (query: string, headers: Record<string, string> = OPERATOR) =>
    backend.request(`${WALLETS}/${wallet.address}/balance${query}`, { headers })
  expect((await get('')).status).toBe(400)
  expect((await get(`?userId=${eve.user.id}`)).status).toBe(404)
  expect((await get(`?userId=${user.id}`, { ...OPERATOR, 'x-user-id': eve.user.id })).status).toBe(404)
  expect((await get(`?userId=${user.id}`, {})).status).toBe(401)
  const response = await get(`?userId=${user.id}`)
  expect([response.status, await response.json()]).toMatchObject([503, { code: 'NOT_CONFIGURED' }])
})

describe.skipIf(!hasAnvil)('splits on a chain', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await startTokenChain(8453, USDC)
  })
  afterAll(() => chain.stop())

  const openTestPlatform = async (dollars = 1000n) => {
    const paying = await openPaying(chain.rpcUrl)
    await fund(chain, USDC, paying.wallet.address, dollars * DOLLAR)
    return paying
  }
  const paid = (recipients: Recipient[]) =>
    Promise.all(recipients.map(({ address }) => readToken(chain, USDC, address)))

  test('GET …/balance: 200 with the balance on the chain', async () => {
    const { backend, user, wallet } = await openTestPlatform(7n)
    const response = await backend.request(`${WALLETS}/${wallet.address}/balance?userId=${user.id}`, {
      headers: OPERATOR,
    })
    expect([response.status, await response.json()]).toEqual([200, { address: wallet.address, balance_usdc: '7.00' }])
  })

  test('a split pays every recipient exactly, and none with an amount of zero', async () => {
    const paying = await openTestPlatform()
    const recipients = among('33.333333', '33.333333', '33.333334', 0)
    const { splitId } = await read(QueuedSplit, ask(paying, toBody(paying, recipients, { totalAmount: '1.000001' })))
    const split = await settle(paying, splitId)
    expect(split).toMatchObject({ status: 'settled', reason: null })
    expect(split.recipients.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded', 'skipped'])
    expect(await paid(recipients)).toEqual([333_334n, 333_333n, 333_334n, 0n])
    expect(await readToken(chain, USDC, paying.wallet.address)).toBe(999n * DOLLAR - 1n)
  })

  test('a split is paid once when 200 requests are concurrent', async () => {
    const paying = await openTestPlatform()
    const recipients = among(10, 20, 30, 40)
    const { splitId } = await read(QueuedSplit, ask(paying, toBody(paying, recipients)))
    await Promise.all(Array.from({ length: 200 }, () => settleSplit(paying.platform, splitId)))
    expect(paying.platform.db.select().from(walletPayments).all()).toHaveLength(4)
    await Promise.all(Array.from({ length: 20 }, () => settlePayments(paying.platform)))
    expect(await settle(paying, splitId)).toMatchObject({ status: 'settled' })
    expect(await paid(recipients)).toEqual([10n, 20n, 30n, 40n].map((dollars) => dollars * DOLLAR))
    await Promise.all(Array.from({ length: 200 }, () => settleSplit(paying.platform, splitId)))
    expect(await readToken(chain, USDC, paying.wallet.address)).toBe(900n * DOLLAR)
  })

  test('a split waits for the balance and continues when it suffices', async () => {
    const paying = await openTestPlatform(10n)
    const recipients = among(50, 50)
    const { splitId } = await read(QueuedSplit, ask(paying, toBody(paying, recipients, { totalAmount: '12' })))
    for (let round = 0; round < 3; round++) {
      await followSplits(paying.platform)
      await settlePayments(paying.platform)
      paying.clock.advance(60_000)
    }
    await followSplits(paying.platform)
    expect(await detailOf(paying, splitId)).toMatchObject({
      status: 'processing',
      reason: 'The wallet holds too little USDC',
    })
    await fund(chain, USDC, paying.wallet.address, 2n * DOLLAR)
    expect(await settle(paying, splitId)).toMatchObject({ status: 'settled' })
    expect(await paid(recipients)).toEqual([6n * DOLLAR, 6n * DOLLAR])
  })

  test('a split follows the wallet’s policy: a forbidden part fails alone, and a frozen wallet sends nothing', async () => {
    const paying = await openTestPlatform()
    const { platform, wallet } = paying
    const isThis = eq(managedWallets.id, wallet.id)
    const change = (columns: Partial<typeof managedWallets.$inferSelect>) =>
      write(platform.db, (tx) => tx.update(managedWallets).set(columns).where(isThis).run())
    await change({ perPaymentMicroUsd: 50_000_000 })
    const recipients = among(40, 60)
    const { splitId } = await read(QueuedSplit, ask(paying, toBody(paying, recipients)))
    const split = await settle(paying, splitId)
    expect(split).toMatchObject({ status: 'partially_settled', reason: expect.stringContaining('policy') })
    expect(await paid(recipients)).toEqual([40n * DOLLAR, 0n])
    await change({ frozenAt: paying.clock.now() })
    const frozen = await read(QueuedSplit, ask(paying, toBody(paying, recipients, { totalAmount: '1' })))
    expect(await settle(paying, frozen.splitId)).toMatchObject({ status: 'failed', reason: 'This wallet is frozen' })
    expect(await paid(recipients)).toEqual([40n * DOLLAR, 0n])
  })

  test('followSplits leaves a split queued until fromAddress is a wallet of the user, and pays from a wallet made by the operator', async () => {
    const paying = await openTestPlatform()
    const { platform, user } = paying
    const agentId = await addAgent(paying, user.id)
    const recipients = among(100)
    const { splitId: lost } = await read(
      QueuedSplit,
      ask(paying, { ...toBody(paying, recipients), agentId, fromAddress: newPayee() }),
    )
    await followSplits(platform)
    expect(await detailOf(paying, lost)).toMatchObject({
      status: 'queued',
      reason: expect.stringContaining('no wallet'),
    })
    const made = () => paying.backend.request(WALLETS, json('POST', { userId: user.id, agentId }, OPERATOR))
    const wallet = await read(z.object({ address: z.string() }), made())
    await fund(chain, USDC, wallet.address, 100n * DOLLAR)
    const { splitId } = await read(
      QueuedSplit,
      ask(paying, { ...toBody(paying, recipients), agentId, fromAddress: wallet.address }),
    )
    expect(await settle(paying, splitId)).toMatchObject({ status: 'settled' })
    expect(await paid(recipients)).toEqual([100n * DOLLAR])
  })
})
