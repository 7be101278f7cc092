import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { toSpec } from '../deployments/spec.ts'
import { agents } from '../registry/tables.ts'
import { Provisioned, WebProvisioned } from './schemas.ts'

const CHANNEL = { telegramToken: '123456:canary-telegram', telegramUserId: '42' }
const PAID = { plan: 'solo', email: 'Grace@Example.com', subscriptionId: 'sub_1' }

function openTest(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment })
  const jobs = startJobs(test.platform)
  return {
    ...test,
    onWeb: (body: unknown, headers: Record<string, string>) =>
      test.web.request('/api/provision', json('POST', body, headers)),
    onBackend: (body: unknown, headers: Record<string, string> = {}) =>
      test.backend.request('/api/provision', json('POST', body, { ...bearer(INTERNAL_KEY), ...headers })),
    agent: (id: string) => test.platform.db.select().from(agents).where(eq(agents.id, id)).get(),
    [Symbol.asyncDispose]: () => jobs[Symbol.asyncDispose](),
  }
}

test('POST /api/provision in the web API: 200 without tokens, which only the agent gets', async () => {
  await using test = openTest()
  const { user, cookie } = await test.signIn('ada@example.com', 'solo')
  const response = await test.onWeb({ ...CHANNEL, discordBotToken: 'canary-discord', apiKey: 'sk-canary' }, cookie)
  expect(response.status).toBe(200)
  const body = await response.json()
  const { agentId } = WebProvisioned.parse(body)
  expect(body).toEqual({
    success: true,
    userId: user.id,
    agentId,
    // Without a runtime the deployment fails, and the agent exists.
    status: 'error',
    error: 'This test has no runtime',
    subdomain: `${agentId}.agents.localhost`,
    url: `https://${agentId}.agents.localhost`,
    streamKey: null,
    liveStreamId: null,
  })
  const agent = test.agent(agentId)
  if (!agent) throw new Error('There is no such agent')
  expect(agent).toMatchObject({ ownerId: user.id, plan: 'solo' })
  const spec = await toSpec(test.platform, agent, 19_000)
  expect(spec.secrets).toMatchObject({ TELEGRAM_TOKEN: CHANNEL.telegramToken, DISCORD_TOKEN: 'canary-discord' })
  expect(spec.environment).toMatchObject({ TELEGRAM_USER_ID: '42' })
  expect([JSON.stringify(body), dumpTables(test.platform.db), ...test.logLines].join('\n')).not.toContain('canary')
})

test('POST /api/provision in the backend API: 200 with null for missing video services', async () => {
  await using test = openTest()
  const response = await test.onBackend({ ...PAID, ...CHANNEL, aiProvider: 'groq', model: 'groq/x', name: 'Grace' })
  expect(response.status).toBe(200)
  const body = await response.json()
  const { id, createdAt } = Provisioned.parse(body)
  expect(body).toEqual({
    success: true,
    error: 'This test has no runtime',
    userId: id,
    agentId: id,
    id: expect.stringMatching(/^grace-[0-9a-f]{8}$/),
    aiProvider: 'groq',
    aiProviderConfig: { model: 'groq/x', baseUrl: 'https://api.groq.com/openai/v1', requiresKey: true },
    plan: 'solo',
    streamKey: null,
    liveStreamId: null,
    rtmpServer: null,
    playbackUrl: null,
    subdomain: `${id}.agents.localhost`,
    url: `https://${id}.agents.localhost`,
    hls: { playlistUrl: null },
    rtmp: { server: null, key: null },
    status: 'error',
    createdAt,
    metadata: {
      channels: { telegram: 'enabled', discord: 'disabled', whatsapp: 'disabled' },
      streaming: { provider: null, lowLatency: null, resolution: null, bitrate: null },
    },
  })
})

test('POST /api/provision: 200 and the agent belongs to the account when the operator names its address', async () => {
  await using test = openTest()
  const { user } = await test.signIn('grace@example.com')
  const { userId } = await read(Provisioned, test.onBackend({ ...PAID, ...CHANNEL }))
  expect(userId).toBe(user.id)
})

test('POST /api/provision: 200 with aliases of fields', async () => {
  await using test = openTest()
  const names = { channelToken: CHANNEL.telegramToken, channelUserId: 42, paymentSubscriptionId: 'sub_1', plan: 'solo' }
  const { id, metadata } = await read(Provisioned, test.onBackend(names))
  expect(metadata.channels.telegram).toBe('enabled')
  expect(test.agent(id)?.config).toContain('"telegramUserId":"42"')
})

test.each([
  [{}, 400, { error: 'At least one channel token required (telegramToken, discordBotToken, or whatsappToken)' }],
  [{ telegramToken: '', whatsappToken: null }, 400, { error: expect.stringContaining('At least one channel token') }],
  [{ ...CHANNEL, aiProvider: 'acme' }, 400, { error: expect.stringContaining('Invalid aiProvider. Supported: ') }],
  [{ ...CHANNEL, ...PAID, plan: 'gold' }, 400, { error: 'Invalid plan. Supported: solo, collective, label, network' }],
  [
    { ...CHANNEL, ...PAID, whatsappToken: 'w' },
    400,
    { error: expect.stringContaining('Only agents that are OpenClaw') },
  ],
  [CHANNEL, 402, { error: 'No free tier. Choose a paid plan to get started.', code: 'PAYMENT_REQUIRED' }],
  [
    { ...CHANNEL, plan: 'free' },
    402,
    { error: 'No free tier. Choose a paid plan to get started.', code: 'PAYMENT_REQUIRED' },
  ],
  [
    { ...CHANNEL, plan: 'solo' },
    402,
    { error: 'Active subscription required. Subscribe at /pricing', code: 'PAYMENT_REQUIRED' },
  ],
])(
  'POST /api/provision in the backend API: when the body is %j, %d and nothing is written',
  async (body, status, error) => {
    await using test = openTest()
    const response = await test.onBackend(body)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ success: false, ...error })
    expect(countRows(test.platform.db)).toMatchObject({ agents: 0, jobs: 0 })
  },
)

test('POST /api/provision in the web API: 401, 400 and 403 with the messages of the interface documentation', async () => {
  await using test = openTest()
  const withoutAccount = await test.onWeb(CHANNEL, {})
  expect([withoutAccount.status, await withoutAccount.json()]).toEqual([
    401,
    { success: false, error: 'Authentication required' },
  ])
  const { cookie } = await test.signIn('ada@example.com')
  const unpaid = await test.onWeb({ ...CHANNEL, plan: 'solo', subscriptionId: 'sub_1' }, cookie)
  expect(unpaid.status).toBe(403)
  expect(await unpaid.json()).toMatchObject({
    success: false,
    error: 'Active subscription required. Please purchase a plan to deploy.',
  })
  const grace = await test.signIn('grace@example.com', 'solo')
  const silent = await test.onWeb({}, grace.cookie)
  expect(silent.status).toBe(400)
  expect(await silent.json()).toEqual({
    success: false,
    error: 'At least one channel token required (telegram, whatsapp, or discord)',
  })
  expect(countRows(test.platform.db).agents).toBe(0)
})

test('POST /api/provision: 200 without a channel for a business agent or autoProvision', async () => {
  await using test = openTest()
  const { cookie } = await test.signIn('ada@example.com', 'network')
  expect((await test.onWeb({ agentType: 'business' }, cookie)).status).toBe(200)
  expect((await test.onWeb({ autoProvision: true }, cookie)).status).toBe(200)
})

test.each([
  ['solo', 1],
  ['collective', 3],
  ['label', 10],
] as const)('POST /api/provision: 200 for concurrent requests on %s up to %d agents', async (plan, limit) => {
  await using test = openTest()
  const { user, cookie } = await test.signIn('ada@example.com', plan)
  const forUser = { 'x-user-id': user.id }
  const order = (index: number) =>
    index % 2 ? test.onWeb(CHANNEL, cookie) : test.onBackend({ ...CHANNEL, plan }, forUser)
  const responses = await Promise.all(Array.from({ length: 50 }, (_, index) => order(index)))
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(limit)
  expect(countRows(test.platform.db).agents).toBe(limit)
  const error = `Agent limit reached. Your ${plan} plan allows ${limit} agent(s). Upgrade to add more.`
  const full = { success: false, error, code: 'AGENT_LIMIT_REACHED', current: limit, limit }
  for (const [status, response] of [
    [429, await test.onWeb(CHANNEL, cookie)],
    [402, await test.onBackend(CHANNEL, forUser)],
  ] as const) {
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual(full)
  }
})

test.each([
  [
    'their address',
    { email: 'grace@example.com', subscriptionId: 'sub_1' },
    { email: 'GRACE@example.com', subscriptionId: 'sub_2' },
  ],
  ['their subscription', { subscriptionId: 'sub_1' }, { subscriptionId: 'sub_1' }],
])(
  'POST /api/provision: 200 once for a tenant without an account, identified by %s, then 402',
  async (_how, first, second) => {
    await using test = openTest()
    const other = { subscriptionId: 'sub_other', email: 'other@example.com' }
    expect((await test.onBackend({ ...CHANNEL, plan: 'solo', ...first })).status).toBe(200)
    expect((await test.onBackend({ ...CHANNEL, plan: 'solo', ...second })).status).toBe(402)
    expect((await test.onBackend({ ...CHANNEL, plan: 'solo', ...other })).status).toBe(200)
  },
)

test("POST /api/provision: 200 with the user's plan when the requested one is larger", async () => {
  await using test = openTest()
  const { user, cookie } = await test.signIn('ada@example.com', 'collective')
  const { agentId } = await read(WebProvisioned, test.onWeb({ ...CHANNEL, plan: 'solo' }, cookie))
  expect(test.agent(agentId)).toMatchObject({ plan: 'solo' })
  const forUser = { 'x-user-id': user.id, 'x-user-plan': 'network' }
  const larger = await read(Provisioned, test.onBackend({ ...CHANNEL, plan: 'network' }, forUser))
  expect(larger.plan).toBe('collective')
})

test('POST /api/provision: 200 for administrators without subscription and cap', async () => {
  await using test = openTest({ ADMIN_EMAILS: 'ada@example.com' })
  const { cookie } = await test.signIn('ada@example.com')
  for (let count = 0; count < 2; count++) {
    expect((await test.onWeb({ ...CHANNEL, plan: 'solo' }, cookie)).status).toBe(200)
    expect((await test.onBackend({ ...CHANNEL, plan: 'solo', email: 'ADA@example.com' })).status).toBe(200)
  }
  expect(countRows(test.platform.db).agents).toBe(4)
})

test('POST /api/provision: 503 when provisioning is switched off, on both APIs', async () => {
  await using test = openTest({ KILL_SWITCH: 'true' })
  const { cookie } = await test.signIn('ada@example.com', 'network')
  for (const response of [await test.onWeb(CHANNEL, cookie), await test.onBackend({ ...CHANNEL, ...PAID })]) {
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({
      success: false,
      error: 'Provisioning is temporarily disabled. Contact support.',
    })
  }
  expect(countRows(test.platform.db).agents).toBe(0)
})

test('POST /api/provision in the web API: 429 when one address exceeds its rate; 401 and 403 in the backend API without the key', async () => {
  await using test = openTest({ RATE_LIMIT_PROVISION: '1' })
  await test.onWeb(CHANNEL, {})
  const response = await test.onWeb(CHANNEL, {})
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({ success: false, error: 'Too many requests, please slow down.' })
  const { backend } = test
  expect((await backend.request('/api/provision', json('POST', CHANNEL))).status).toBe(401)
  expect((await backend.request('/api/provision', json('POST', CHANNEL, bearer('wrong')))).status).toBe(403)
})

test.each(['/api/provision', '/api/agents/provision'])(
  'POST %s: one agent and one response when an Idempotency-Key is repeated',
  async (path) => {
    await using test = openTest()
    const { cookie } = await test.signIn('ada@example.com', 'network')
    const ask = (body: unknown) =>
      test.web.request(path, json('POST', body, { ...cookie, 'idempotency-key': 'order-1' }))
    const responses = await Promise.all(Array.from({ length: 20 }, () => ask({ ...CHANNEL, name: 'Ada' })))
    const bodies = await Promise.all(responses.map((response) => response.text()))
    expect(new Set(bodies).size).toBe(1)
    expect(new Set(responses.map(({ status }) => status)).size).toBe(1)
    expect(responses[0]?.ok).toBe(true)
    expect(countRows(test.platform.db).agents).toBe(1)
    expect((await ask({ ...CHANNEL, name: 'Bo' })).status).toBe(409)
    expect(countRows(test.platform.db).agents).toBe(1)
  },
)
