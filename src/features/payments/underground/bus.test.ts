import { expect, test } from 'bun:test'
import { keccak256, toBytes } from 'viem'
import { devAccount } from '../../../../tests/harness/chain/anvil.ts'
import { startReceiver } from '../../../../tests/harness/doubles/receivers.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import type { PlanName } from '../../accounts/plans/plans.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import { insertAgent, openTokens } from '../../agents/registry/agents.ts'
import { changeSettings } from '../../agents/registry/config.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { createWallet } from '../wallets/create.ts'
import { MessagePage } from './schemas.ts'
import { amplifications, bookings, busMessages } from './tables.ts'

const PATH = '/api/underground/bus/send'
const NOT_SENT = { error: 'Failed to send message', reason: expect.any(String) }

/** A platform with Ada, Bo and an agent of each; Bo's has a webhook. Both sign in with wallets. */
async function openTestPlatform({ plan = 'network' as PlanName | null, webhookUrl = '' } = {}) {
  const test = testPlatform({ environment: { SUMMARIZER_ALLOW_PRIVATE: 'true', ADMIN_EMAILS: 'admin@example.com' } })
  const deps = { clock: test.clock, sealer: test.platform.sealer }
  const join = async (name: string, account: number, of: PlanName | null) => {
    const { user, cookie } = await test.signIn(`${name}@example.com`, of)
    const agent = await write(test.platform.db, (tx) => {
      const address = devAccount(account).address.toLowerCase()
      tx.insert(wallets).values({ chainId: 8453, address, userId: user.id, createdAt: test.clock.now() }).run()
      const usual = { model: 'a/b', plan: 'solo', aiProvider: 'groq', status: 'running' } as const
      const row = insertAgent(deps, tx, { ...usual, name, ownerId: user.id })
      return webhookUrl ? changeSettings(deps, tx, row, { webhookUrl: `${webhookUrl}/${name}?secret=canary` }) : row
    })
    return { user, cookie, agent, account }
  }
  const ada = await join('ada', 0, plan)
  const bo = await join('bo', 1, 'network')
  let sent = 0
  const compose = (from: typeof ada, to: { agent: AgentRow }, change: Partial<Message> = {}): Message => ({
    version: '1.0',
    messageId: `m-${++sent}`,
    timestamp: test.clock.now().toISOString(),
    from: { agentId: from.agent.id, agentType: 'artist', walletAddress: devAccount(from.account).address },
    to: { agentId: to.agent.id, agentType: 'venue' },
    action: 'PING',
    payload: { zebra: 1, apple: [1, { b: 2, a: 1 }] },
    ...change,
  })
  const post = (message: unknown) => test.backend.request(PATH, json('POST', message))
  const send = async (from: typeof ada, to: { agent: AgentRow }, change: Partial<Message> = {}) =>
    post(await sign(compose(from, to, change), from.account))
  const messages = () => test.platform.db.select().from(busMessages).all()
  return { ...test, ada, bo, compose, post, send, messages }
}

type Message = {
  version: string
  messageId: string
  timestamp: string
  from: { agentId: string; agentType: string; walletAddress: string }
  to: { agentId: string; agentType: string }
  action: string
  payload: unknown
}

/** Signs a message as the protocol requires. */
async function sign(message: Message, account: number) {
  const { version, messageId, timestamp, from, to, action, payload } = message
  const { agentId, agentType, walletAddress } = from
  const text = JSON.stringify({
    version,
    messageId,
    timestamp,
    from: { agentId, agentType, walletAddress },
    to,
    action,
    payload,
  })
  const signature = await devAccount(account).signMessage({ message: keccak256(toBytes(text)) })
  return { ...message, from: { ...message.from, signature } }
}

test('POST /api/underground/bus/send: 200 and the recipient’s webhook gets the whole message', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, compose, post, messages } = await openTestPlatform({ webhookUrl: receiver.url })
  const message = { ...(await sign(compose(ada, bo), 0)), metadata: { priority: 'high' } }
  const response = await post(message)
  expect([response.status, await response.json()]).toEqual([200, { success: true, messageId: message.messageId }])
  expect(receiver.deliveries).toHaveLength(1)
  const [delivery] = receiver.deliveries
  expect(JSON.parse(delivery?.body ?? '')).toEqual(message)
  expect(delivery?.path).toBe('/bo?secret=canary')
  expect(delivery?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-agent-protocol-version': '1.0',
    'x-stead-message': '1',
  })
  expect(messages()).toMatchObject([{ status: 'delivered', attempts: 1, ownerId: ada.user.id }])
})

test('POST /api/underground/bus/send: 200 with the signature at top level, and with the recipient’s domain', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, compose, post, platform } = await openTestPlatform({ webhookUrl: receiver.url })
  const to = { agentId: `${bo.agent.id}.${platform.addresses.agentsDomain}`, agentType: 'venue' }
  const { from, ...rest } = await sign(compose(ada, bo, { to }), 0)
  const { signature, ...speaker } = from
  expect((await post({ ...rest, from: speaker, signature })).status).toBe(200)
  expect(receiver.taken()).toHaveLength(1)
})

test('POST /api/underground/bus/send: 401 when no wallet of the sender signed the message, and nothing is stored', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, compose, post, messages, clock } = await openTestPlatform({ webhookUrl: receiver.url })
  const good = await sign(compose(ada, bo), 0)
  const forged: unknown[] = [
    compose(ada, bo),
    { messageId: 'm', action: 'PING', signature: '0x' },
    { ...good, action: 'BOOKING_ACCEPT' },
    { ...good, payload: { ...(good.payload as object), extra: 1 } },
    { ...good, to: { agentId: ada.agent.id, agentType: 'venue' } },
    { ...good, messageId: 'other' },
    { ...good, version: '1.1' },
    { ...good, timestamp: new Date(clock.now().getTime() + 1).toISOString() },
    { ...good, from: { ...good.from, agentId: bo.agent.id } },
    { ...good, from: { ...good.from, walletAddress: devAccount(2).address } },
    { ...good, from: { ...good.from, signature: `${good.from.signature}00` } },
    { ...good, from: { ...good.from, signature: 'none' } },
    // Signed by an existing wallet, in the name of another user's agent.
    await sign({ ...compose(ada, bo), from: { ...good.from, walletAddress: devAccount(1).address } }, 1),
    await sign(compose({ ...ada, agent: { ...ada.agent, id: 'nobody' } }, bo), 0),
    await sign(compose(ada, bo, { timestamp: new Date(clock.now().getTime() - 301_000).toISOString() }), 0),
    await sign(compose(ada, bo, { timestamp: new Date(clock.now().getTime() + 301_000).toISOString() }), 0),
    await sign(compose(ada, bo, { timestamp: 'now' }), 0),
  ]
  for (const message of forged) {
    const response = await post(message)
    expect([response.status, await response.json()]).toEqual([
      401,
      { error: 'Invalid message signature', reason: expect.any(String) },
    ])
  }
  expect([messages(), receiver.deliveries]).toEqual([[], []])
  expect((await post(good)).status).toBe(200)
})

test('POST /v1/bus/send: 200 when an agent has a managed wallet; 404 without a wallet, 401 without a token', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, backend, platform, post } = await openTestPlatform({ webhookUrl: receiver.url })
  const token = openTokens(platform.sealer, ada.agent).accessToken
  const message = { to: { agentId: bo.agent.id }, action: 'BOOKING_OFFER', payload: { talentName: 'Bo', amount: '5' } }
  const send = (headers: Record<string, string>) => backend.request('/v1/bus/send', json('POST', message, headers))
  expect((await send({})).status).toBe(401)
  expect((await send(bearer(token))).status).toBe(404)
  const { wallet } = await createWallet(platform, { userId: ada.user.id, agentId: ada.agent.id })
  const response = await send(bearer(token))
  expect([response.status, await response.json()]).toEqual([200, { success: true, messageId: expect.any(String) }])
  const taken = JSON.parse(receiver.taken()[0] ?? '')
  expect(taken).toMatchObject({ ...message, from: { agentId: ada.agent.id, walletAddress: wallet.address } })
  expect(platform.db.select().from(bookings).all()).toHaveLength(1)
  // Its message is valid for any caller who has it, and counts once.
  expect((await post(taken)).status).toBe(200)
  expect(receiver.taken()).toHaveLength(1)
})

test('POST /api/underground/bus/send: 400 without an id or an action', async () => {
  const { post } = await openTestPlatform()
  for (const body of [{}, { messageId: 'm' }, { action: 'PING' }, { messageId: '', action: 'PING' }, []]) {
    expect((await post(body)).status).toBe(400)
  }
})

test('POST /api/underground/bus/send: one delivery when a message is sent a hundred times; 409 when another has its id', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, compose, post, messages } = await openTestPlatform({ webhookUrl: receiver.url })
  const message = await sign(compose(ada, bo, { action: 'BOOKING_OFFER', payload: { talentName: 'X', amount: 1 } }), 0)
  const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await post(message)).status))
  expect(statuses.every((status) => status === 200)).toBe(true)
  expect([messages().length, receiver.deliveries.length]).toEqual([1, 1])
  const other = await sign(compose(ada, bo, { messageId: message.messageId }), 0)
  expect((await post(other)).status).toBe(409)
})

test('POST /api/underground/bus/send: 500 when the webhook fails, and the queue delivers; 500 without a webhook or agent', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, compose, post, send, platform, clock, messages } = await openTestPlatform({
    webhookUrl: receiver.url,
  })
  for (const fault of [503, 302, 'reset'] as const) {
    receiver.failWith(fault)
    const response = await send(ada, bo)
    const body = await response.text()
    expect([response.status, JSON.parse(body)]).toEqual([500, NOT_SENT])
    expect(body).not.toContain('canary')
  }
  expect(messages().map(({ status }) => status)).toEqual(['pending', 'pending', 'pending'])
  const again = await sign(compose(ada, bo), 0)
  receiver.failWith(500)
  expect([(await post(again)).status, (await post(again)).status]).toEqual([500, 500])
  clock.advance(30_000)
  await using _jobs = startJobs(platform)
  await until('all to be delivered', () => messages().every(({ status }) => status === 'delivered'))
  expect(receiver.taken()).toHaveLength(4)
  expect((await post(again)).status).toBe(200)

  const bare = await openTestPlatform()
  expect((await bare.send(bare.ada, bare.bo)).status).toBe(500)
  expect(bare.messages()).toMatchObject([{ status: 'pending', lastError: 'the recipient has no webhook' }])
  const lost = await bare.send(bare.ada, bare.bo, { to: { agentId: 'nobody', agentType: '' } })
  expect([lost.status, await lost.json()]).toEqual([500, NOT_SENT])
  expect(bare.messages()).toHaveLength(1)
})

test('POST /api/underground/bus/send: 429 at the plan’s messages per day (UTC), 402 without a plan', async () => {
  await using receiver = await startReceiver()
  const test = await openTestPlatform({ plan: 'label', webhookUrl: receiver.url })
  const { ada, bo, send, platform, clock } = test
  clock.set(new Date('2026-05-05T23:59:00Z'))
  await write(platform.db, (tx) => {
    const row = {
      ownerId: ada.user.id,
      fromAgentId: ada.agent.id,
      toAgentId: bo.agent.id,
      action: 'PING',
      version: '1.0',
      body: '{}',
      contentHash: '',
      status: 'delivered',
      createdAt: clock.now(),
    } as const
    for (let index = 0; index < 99; index++)
      tx.insert(busMessages)
        .values({ ...row, messageId: `old-${index}` })
        .run()
  })
  const both = await Promise.all([send(ada, bo), send(ada, bo)])
  expect(both.map(({ status }) => status).sort()).toEqual([200, 429])
  const refused = await send(ada, bo)
  expect([refused.status, await refused.json()]).toEqual([
    429,
    { error: 'Limit of agent messages a day reached', current: 100, limit: 100 },
  ])
  clock.set(new Date('2026-05-06T00:00:00Z'))
  expect((await send(ada, bo)).status).toBe(200)

  const poor = await openTestPlatform({ plan: null, webhookUrl: receiver.url })
  const response = await poor.send(poor.ada, poor.bo)
  expect([response.status, await response.json()]).toMatchObject([402, { code: 'PLAN_REQUIRED' }])
})

test('POST /api/underground/bus/send: bookings are stored, and answered once by the agent that was asked', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, send, platform } = await openTestPlatform({ webhookUrl: receiver.url })
  const offer = { talentName: 'Bo', amount: '500.25', deposit: 100, date: '2027-01-01', venue: 'Cellar' }
  const rows = () => platform.db.select().from(bookings).all()
  expect((await send(ada, bo, { action: 'BOOKING_OFFER', messageId: 'o-1', payload: offer })).status).toBe(200)
  expect(rows()).toMatchObject([
    {
      messageId: 'o-1',
      payerId: ada.user.id,
      payeeId: bo.user.id,
      guaranteeMicroUsd: 500_250_000,
      depositMicroUsd: 100_000_000,
      backendMicroUsd: 0,
      gigAt: new Date('2027-01-01T00:00:00Z'),
      status: 'offered',
    },
  ])
  const accept = { action: 'BOOKING_ACCEPT', payload: { bookingId: 'o-1' } }
  expect((await send(ada, bo, accept)).status).toBe(404)
  const answers = await Promise.all([
    send(bo, ada, accept),
    send(bo, ada, { ...accept, action: 'BOOKING_DECLINE', payload: { bookingId: rows()[0]?.id } }),
  ])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  expect(rows()[0]?.status).not.toBe('offered')
  expect((await send(bo, ada, { ...accept, payload: { bookingId: 'o-2' } })).status).toBe(404)
  for (const payload of [
    undefined,
    {},
    { ...offer, amount: -1 },
    { ...offer, amount: '1e3' },
    { ...offer, amount: 0.1 + 0.2 },
    { ...offer, deposit: 501 },
    { ...offer, eventId: 'x' },
  ]) {
    expect((await send(ada, bo, { action: 'BOOKING_OFFER', payload })).status).toBe(400)
  }
  expect((await send(ada, bo, { action: 'BOOKING_OFFER', payload: { ...offer, eventId: 1 } })).status).toBe(404)
  expect((await send(ada, bo, { action: 'BOOKING_NOTE', payload: 'see you' })).status).toBe(200)
  expect(rows()).toHaveLength(1)
})

test('POST /api/underground/bus/send: amplifications are stored, and only accepted in their order', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, send, platform } = await openTestPlatform({ webhookUrl: receiver.url })
  const rows = () => platform.db.select().from(amplifications).all()
  expect((await send(ada, bo, { action: 'AMPLIFY_REQUEST', messageId: 'a-1', payload: { reward: '5' } })).status).toBe(
    200,
  )
  const complete = { action: 'AMPLIFY_COMPLETE', payload: { campaignId: 'a-1', postUrl: 'https://social.example/1' } }
  expect((await send(bo, ada, complete)).status).toBe(409)
  expect((await send(ada, bo, { action: 'AMPLIFY_ACCEPT', payload: { campaignId: 'a-1' } })).status).toBe(404)
  expect((await send(bo, ada, { action: 'AMPLIFY_ACCEPT', payload: { campaignId: 'a-1' } })).status).toBe(200)
  expect((await send(bo, ada, { action: 'AMPLIFY_DECLINE', payload: { campaignId: 'a-1' } })).status).toBe(409)
  expect((await send(bo, ada, { ...complete, payload: { campaignId: 'a-1', postUrl: 'no' } })).status).toBe(400)
  expect((await send(bo, ada, complete)).status).toBe(200)
  expect(rows()).toMatchObject([
    { rewardMicroUsd: 5_000_000, status: 'completed', postUrl: 'https://social.example/1' },
  ])
})

test('GET /api/underground/bus/messages: 200 with own ones; GET /api/admin/bus/dead-letters and POST /api/admin/bus/dead-letters/:id/replay: 403 for others', async () => {
  await using receiver = await startReceiver()
  const { ada, bo, send, platform, web, signIn, messages } = await openTestPlatform({ webhookUrl: receiver.url })
  const admin = await signIn('admin@example.com')
  receiver.failWith(500)
  await send(ada, bo)
  const list = async (path: string, cookie: Record<string, string>) =>
    read(MessagePage, web.request(path, { headers: cookie }))
  const mine = await list('/api/underground/bus/messages', ada.cookie)
  expect(mine).toEqual({
    messages: [
      {
        id: 1,
        messageId: 'm-1',
        action: 'PING',
        from: ada.agent.id,
        to: bo.agent.id,
        status: 'pending',
        attempts: 1,
        lastError: 'the recipient answered 500',
        createdAt: expect.any(String),
        deliveredAt: null,
      },
    ],
    next: null,
  })
  expect((await list('/api/underground/bus/messages', bo.cookie)).messages).toEqual([])
  const replay = (cookie: Record<string, string>, id = '1') =>
    web.request(`/api/admin/bus/dead-letters/${id}/replay`, json('POST', {}, cookie))
  expect((await replay(admin.cookie)).status).toBe(404)
  await write(platform.db, (tx) => tx.update(busMessages).set({ status: 'dead' }).run())
  expect((await list('/api/admin/bus/dead-letters', admin.cookie)).messages).toMatchObject([{ id: 1, status: 'dead' }])
  expect((await web.request('/api/admin/bus/dead-letters', { headers: ada.cookie })).status).toBe(403)
  expect((await replay(ada.cookie)).status).toBe(403)
  for (const id of ['2', 'x', '1e0']) expect((await replay(admin.cookie, id)).status).toBe(404)
  expect((await replay(admin.cookie)).status).toBe(200)
  await using _jobs = startJobs(platform)
  await until('the message to be delivered', () => messages()[0]?.status === 'delivered')
  expect(receiver.taken()).toHaveLength(1)
})
