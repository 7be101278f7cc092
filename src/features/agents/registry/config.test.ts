import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { toSpec } from '../deployments/spec.ts'
import { deployments } from '../operations/tables.ts'
import { insertAgent } from './agents.ts'
import { AgentMessages, ConfigResponse } from './schemas.ts'
import { type AgentRow, agents } from './tables.ts'

type TestPlatform = ReturnType<typeof testPlatform>

async function withAgent(status: AgentRow['status'] = 'stopped', environment = {}) {
  const test = testPlatform({ environment })
  const { user, cookie } = await test.signIn('ada@example.com', 'network')
  const usual = { name: 'Ada', model: 'openai/gpt-4o-mini', plan: 'solo', aiProvider: 'openrouter' }
  const agent = await write(test.platform.db, (tx) =>
    insertAgent({ clock: test.clock, sealer: test.platform.sealer }, tx, { ...usual, status, ownerId: user.id }),
  )
  const path = `/api/agents/${agent.id}/config`
  return {
    ...test,
    user,
    cookie,
    agent,
    get: () => test.web.request(path, { headers: cookie }),
    put: (body: unknown) => test.web.request(path, json('PUT', body, cookie)),
    row: () => getRow(test, agent.id),
  }
}

function getRow({ platform }: TestPlatform, id: string): AgentRow {
  const row = platform.db.select().from(agents).where(eq(agents.id, id)).get()
  if (!row) throw new Error('There is no such agent')
  return row
}

const NONE = {
  apiKey: false,
  telegramToken: false,
  discordBotToken: false,
  whatsappToken: false,
  slackBotToken: false,
  slackAppToken: false,
  webhookUrl: false,
}
const SECRETS = {
  apiKey: 'sk-canary-provider',
  telegramToken: '123456:canary-telegram',
  discordBotToken: 'canary.discord.token',
  slackBotToken: 'xoxb-canary-slack',
  slackAppToken: 'xapp-canary-slack',
  webhookUrl: 'https://user:canary-password@hooks.example/canary-path?canary=1',
}

test('GET /api/agents/:id/config: 200 with the initial settings', async () => {
  const { get } = await withAgent()
  const response = await get()
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    config: { plan: 'solo', aiProvider: 'openrouter', model: 'openai/gpt-4o-mini', secrets: NONE },
    status: 'ok',
  })
})

test('PUT /api/agents/:id/config: 200 with all settings but secrets', async () => {
  const { put, get, platform, logLines } = await withAgent()
  const plain = {
    model: 'openai/gpt-4o',
    aiProvider: 'anthropic',
    telegramUserId: '42',
    ownerIds: ['42', '43'],
    skills: ['weather'],
    template: 'support',
    brain: 'careful',
    tier: 'pro',
    agentType: 'business',
  }
  const response = await put({ ...plain, ...SECRETS, secrets: { apiKey: false } })
  expect(response.status).toBe(200)
  const text = await response.text()
  const all = Object.fromEntries(Object.keys(NONE).map((name) => [name, name in SECRETS]))
  const config = { plan: 'solo', ...plain, webhookUrl: 'https://hooks.example', secrets: all }
  expect(JSON.parse(text)).toEqual({ config, status: 'updated' })
  expect(await (await get()).json()).toEqual({ config, status: 'ok' })
  expect([text, dumpTables(platform.db), ...logLines].join('\n')).not.toContain('canary')
})

test('PUT /api/agents/:id/config: 400 with similar names when the model is unknown, 200 when the agent has its own key', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(AbortSignal.timeout(5000))
  const { agentId, cookie } = await test.join()
  const put = (body: unknown) => test.web.request(`/api/agents/${agentId}/config`, json('PUT', body, cookie))
  const refused = await put({ model: 'openai/gpt-4o-minni' })
  expect(refused.status).toBe(400)
  expect(await refused.json()).toEqual({
    error: 'Unknown model openai/gpt-4o-minni. Did you mean openai/gpt-4o-mini?',
    code: 'UNKNOWN_MODEL',
    near: ['openai/gpt-4o-mini'],
  })
  expect((await put({ model: 'unknown/nobody-knows-its-price' })).status).toBe(200)
  expect((await put({ model: 'its-own/model', apiKey: 'sk-own', aiProvider: 'openai' })).status).toBe(200)
})

test('PUT /api/agents/:id/config: 200 when the provider of the model is unreachable', async () => {
  await using test = await aiPlatform()
  const { agentId, cookie } = await test.join()
  const change = json('PUT', { model: 'newest/model' }, cookie)
  expect((await test.web.request(`/api/agents/${agentId}/config`, change)).status).toBe(200)
})

test('PUT /api/agents/:id/config: 400 with the nearest setting when one is misspelt, and nothing is saved', async () => {
  const { put, row } = await withAgent()
  const before = row()
  const refused = await put({ skills: ['weather'], modle: 'openai/gpt-4o' })
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({ error: 'Unknown setting modle. Did you mean model?' })
  expect(row()).toEqual(before)
})

test('PUT /api/agents/:id/config: 200 keeps missing fields, removes null, accepts the config of GET', async () => {
  const { put, get, row, platform } = await withAgent()
  await put({ ...SECRETS, skills: ['weather'], template: 'support' })
  await put({ telegramToken: null, template: null })
  const { config } = await read(ConfigResponse, get())
  expect(config).toMatchObject({ skills: ['weather'], webhookUrl: 'https://hooks.example' })
  expect(config).not.toHaveProperty('template')
  expect(config.secrets).toEqual({
    ...NONE,
    apiKey: true,
    discordBotToken: true,
    slackBotToken: true,
    slackAppToken: true,
    webhookUrl: true,
  })
  const before = row()
  expect((await put(config)).status).toBe(200)
  const unsealConfig = (agent: AgentRow) =>
    platform.sealer.unseal(agent.secretConfig ?? '', `agents:secretConfig:${before.id}`)
  expect(unsealConfig(row())).toBe(unsealConfig(before))
  expect(unsealConfig(before)).toContain(SECRETS.webhookUrl)
  await put({ apiKey: null, discordBotToken: null, slackBotToken: null, slackAppToken: null, webhookUrl: null })
  expect(row().secretConfig).toBeNull()
})

test('PUT /api/agents/:id/config: 200 for 60 concurrent changes, which all apply', async () => {
  const { put, get } = await withAgent()
  const changes = Object.entries(SECRETS).flatMap(([name, value]) =>
    Array.from({ length: 12 }, () => put({ [name]: value })),
  )
  const responses = await Promise.all(changes)
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
  const { config } = await read(ConfigResponse, get())
  expect(config.secrets).toEqual({ ...NONE, ...Object.fromEntries(Object.keys(SECRETS).map((name) => [name, true])) })
})

test('toSpec passes secrets as files and other settings as environment', async () => {
  const { put, row, platform } = await withAgent()
  await put({
    ...SECRETS,
    telegramUserId: 42,
    ownerIds: ['1', '2'],
    skills: ['a', 'b'],
    template: 't',
    aiProvider: 'groq',
  })
  const spec = await toSpec(platform, row(), 19_000)
  expect(spec.environment).toMatchObject({
    AGENT_PLAN: 'solo',
    TELEGRAM_USER_ID: '42',
    OWNER_IDS: '1,2',
    SKILLS: 'a,b',
    TEMPLATE: 't',
    AI_PROVIDER: 'groq',
  })
  expect(spec.secrets).toMatchObject({
    TELEGRAM_TOKEN: SECRETS.telegramToken,
    DISCORD_TOKEN: SECRETS.discordBotToken,
    SLACK_BOT_TOKEN: SECRETS.slackBotToken,
    SLACK_APP_TOKEN: SECRETS.slackAppToken,
    PROVIDER_API_KEY: SECRETS.apiKey,
  })
  expect(JSON.stringify(spec.environment)).not.toContain('canary')
})

test('PUT /api/agents/:id/config: 200 and a running agent is redeployed only when its deployment changes', async () => {
  const { put, row, platform } = await withAgent('running')
  const asked = () => platform.db.select().from(deployments).all().length
  for (const change of [{ webhookUrl: SECRETS.webhookUrl }, { model: 'openai/gpt-4o-mini' }, { brain: 'careful' }]) {
    await put(change)
    expect([row().status, asked()]).toEqual(['running', 0])
  }
  await put({ telegramToken: SECRETS.telegramToken })
  expect([row().status, asked()]).toEqual(['provisioning', 1])
})

test.each(['stopped', 'pending', 'error'] as const)(
  'PUT /api/agents/:id/config: 200 when an agent is %s, which it stays',
  async (status) => {
    const { put, row } = await withAgent(status)
    await put({ model: 'openai/gpt-4o' })
    expect(row()).toMatchObject({ status, model: 'openai/gpt-4o' })
  },
)

test.each([
  [{ model: '' }, 'Model must be text'],
  [{ aiProvider: 'acme' }, /^Invalid aiProvider\. Supported: openrouter/],
  [{ apiKey: 'two words' }, 'apiKey must not contain white space'],
  [{ telegramToken: 'a\0b' }, 'telegramToken must not contain NUL'],
  [{ telegramToken: '' }, 'telegramToken must not be empty'],
  [{ webhookUrl: 'file:///etc/passwd' }, 'webhookUrl must be an http or https URL'],
  [{ ownerIds: '42' }, 'ownerIds must be a list of texts'],
  [{ ownerIds: ['4,2'] }, 'ownerIds must not contain commas'],
  [{ skills: Array.from({ length: 101 }, () => 'a') }, 'skills must have at most 100 entries'],
  [[], /./],
])('PUT /api/agents/:id/config: 400 when the body is %j, and nothing changes', async (body, error) => {
  const { put, platform } = await withAgent()
  const before = dumpTables(platform.db)
  const response = await put(body)
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: expect.stringMatching(error) })
  expect(dumpTables(platform.db)).toBe(before)
})

test('PUT /api/agents/:id/config: 400 when another plan is set, except by the operator and administrators', async () => {
  const { put, backend, agent, row } = await withAgent('stopped')
  const refused = await put({ plan: 'network' })
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({ error: expect.stringContaining('PUT /api/agents/:id') })
  expect((await put({ email: 'x' })).status).toBe(400)
  expect((await put({ plan: 'solo', subscriptionId: 'sub_1' })).status).toBe(200)
  expect(row()).toMatchObject({ plan: 'solo', config: '{}' })
  const path = `/api/agents/${agent.id}/config`
  const response = await backend.request(path, json('PUT', { plan: 'network' }, bearer(INTERNAL_KEY)))
  expect(await response.json()).toMatchObject({ config: { plan: 'network' }, status: 'updated' })
  const shown = await backend.request(path, { headers: bearer(INTERNAL_KEY) })
  expect(await shown.json()).toMatchObject({ config: { plan: 'network' }, status: 'ok' })
})

test.each(['config', 'messages'])(
  '/api/agents/:id/%s: 401 without a session, 404 for a stranger and a missing id',
  async (what) => {
    const { web, backend, signIn, agent, platform } = await withAgent()
    const eve = await signIn('eve@example.com', 'network')
    const before = dumpTables(platform.db)
    const forEve = { ...bearer(INTERNAL_KEY), 'x-user-id': eve.user.id }
    for (const id of [agent.id, 'missing-00000000']) {
      const path = `/api/agents/${id}/${what}`
      expect((await web.request(path)).status).toBe(401)
      expect((await backend.request(path)).status).toBe(401)
      for (const response of [
        await web.request(path, { headers: eve.cookie }),
        await backend.request(path, { headers: forEve }),
        ...(what === 'config' ? [await web.request(path, json('PUT', { model: 'x' }, eve.cookie))] : []),
        ...(what === 'config' ? [await backend.request(path, json('PUT', { model: 'x' }, forEve))] : []),
      ]) {
        expect(response.status).toBe(404)
        expect(await response.json()).toEqual({ error: 'Agent not found' })
      }
    }
    expect(dumpTables(platform.db)).toBe(before)
  },
)

test('GET /api/agents/:id/messages: 200 with pages, newest first, and the total', async () => {
  const { web, backend, user, cookie, agent, platform, clock } = await withAgent()
  await write(platform.db, (tx) => {
    const usual = { userId: user.id, agentId: agent.id, topic: null, status: 'sent', createdAt: clock.now() } as const
    for (let index = 0; index < 120; index++) {
      const sender = index % 2 === 0 ? 'user' : 'agent'
      tx.insert(messages)
        .values({ ...usual, id: `msg_${index}`, sender, content: `Line ${index}` })
        .run()
    }
  })
  const get = (query: string) =>
    read(AgentMessages, web.request(`/api/agents/${agent.id}/messages${query}`, { headers: cookie }))
  const first = await get('')
  expect(first).toMatchObject({ total: 120, limit: 50, offset: 0, status: 'ok' })
  expect(first.messages[0]).toEqual({
    id: 'msg_119',
    agentId: agent.id,
    sender: 'agent',
    content: 'Line 119',
    timestamp: clock.now().toISOString(),
    platform: 'web',
  })
  expect(first.messages).toHaveLength(50)
  expect((await get('?limit=1000')).messages).toHaveLength(100)
  const last = await get('?limit=10&offset=115')
  expect(last.messages.map(({ id }) => id)).toEqual(['msg_4', 'msg_3', 'msg_2', 'msg_1', 'msg_0'])
  const shown = await backend.request(`/api/agents/${agent.id}/messages?limit=1`, { headers: bearer(INTERNAL_KEY) })
  expect(await shown.json()).toMatchObject({ messages: [{ id: 'msg_119' }], total: 120, limit: 1 })
  for (const query of ['?limit=0', '?limit=x', '?offset=-1', '?limit=1.5']) {
    expect((await web.request(`/api/agents/${agent.id}/messages${query}`, { headers: cookie })).status).toBe(400)
  }
})
