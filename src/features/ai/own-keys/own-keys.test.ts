import { expect, test } from 'bun:test'
import { z } from 'zod'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import type { TestOptions } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { write } from '../../../db/write.ts'
import { usageMonths } from '../usage/tables.ts'
import { tryKey } from './own-keys.ts'

const OPENAI = '/v1/chat/completions'
const HI = [{ role: 'user', content: 'Hi' }]
const Listed = z.object({ models: z.array(z.object({ id: z.string() })), defaultModel: z.string().nullish() })
const OWN_KEY = 'sk-vendor-0123456789-own'

/** A platform with an aggregator, and a vendor that users may bring keys for. */
async function installation(options: TestOptions = {}) {
  const vendor = await startProvider()
  const test = await aiPlatform({
    ...options,
    openProvider: (id, apiKey) =>
      ['openai', 'openrouter'].includes(id)
        ? createHttpProvider({ id, baseUrl: vendor.baseUrl, apiKey, timeoutMs: 60_000 }, { fetch })
        : null,
  })
  const ada = await test.join('solo')
  const cookie = { cookie: `service-session=${await test.platform.sessions.create(ada.user.id)}` }
  return {
    ...test,
    vendor,
    ada,
    bill: (body: object, headers: Record<string, string> = cookie) =>
      test.web.request('/api/billing', json('POST', body, headers)),
    billing: async () => (await test.web.request('/api/billing', { headers: cookie })).json(),
    enable: () =>
      test.web.request(
        '/api/billing',
        json('POST', { action: 'enable-byok', apiKey: OWN_KEY, provider: 'openai' }, cookie),
      ),
    say: (model: string) => test.ask(OPENAI, { model, messages: HI }, bearer(ada.key)),
    [Symbol.asyncDispose]: async () => {
      await vendor.stop()
      await test.provider.stop()
    },
  }
}

test('POST /api/billing: 200 for enable-byok; the user’s key then serves the models of its provider', async () => {
  await using test = await installation()
  const response = await test.enable()
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    success: true,
    message: "BYOK enabled with openai. You'll pay openai directly for AI usage.",
  })
  expect(await test.billing()).toMatchObject({ byokEnabled: true, byokProviders: ['openai'] })
  const answer = await test.say('openai/gpt-4o')
  expect(answer.headers.get('x-provider')).toBe('openai')
  expect(test.vendor.chats).toMatchObject([
    { headers: { authorization: `Bearer ${OWN_KEY}` }, body: { model: 'gpt-4o' } },
  ])
  expect(test.provider.chats).toEqual([])
  await test.say('anthropic/claude-3.5-sonnet')
  expect(test.provider.chats).toHaveLength(1)
})

test('a call with the user’s own key is recorded outside plan and quota', async () => {
  await using test = await installation()
  await test.enable()
  const month = test.clock.now().toISOString().slice(0, 7)
  const { user } = test.ada
  await write(test.platform.db, (tx) =>
    tx.insert(usageMonths).values({ userId: user.id, month, tokens: 2_000_000 }).run(),
  )
  expect((await test.say('anthropic/claude-3.5-sonnet')).status).toBe(429)
  // The plan Solo does not include this model; a user with their own provider key may use it.
  expect((await test.say('openai/gpt-4')).status).toBe(200)
  expect(await test.recordedUsage()).toMatchObject([{ isOwnKey: true, model: 'openai/gpt-4', inputTokens: 1000 }])
  expect(test.platform.db.select().from(usageMonths).all()).toMatchObject([{ tokens: 2_000_000 }])
})

test('a call with the user’s own key needs no plan, other calls do', async () => {
  await using test = await installation()
  const poor = await test.join(null, 'poor@example.com')
  const cookie = { cookie: `service-session=${await test.platform.sessions.create(poor.user.id)}` }
  const ask = (path: '/api/ai/chat' | '/v1/chat/completions', token: string, body: object) =>
    test.ask(path, { messages: HI, ...body }, bearer(token))
  expect((await ask(OPENAI, poor.key, { model: 'openai/gpt-4o' })).status).toBe(402)
  await test.bill({ action: 'enable-byok', apiKey: OWN_KEY, provider: 'openai' }, cookie)
  for (const token of [poor.key, poor.agentToken]) {
    for (const body of [{ model: 'openai/gpt-4' }, { model: 'openai/gpt-4', stream: true }, {}]) {
      const response = await ask(OPENAI, token, body)
      expect([response.status, response.headers.get('x-provider')]).toEqual([200, 'openai'])
      await response.text()
    }
  }
  expect((await ask('/api/ai/chat', poor.key, { model: 'openai/gpt-4o' })).status).toBe(200)
  expect(test.provider.chats).toEqual([])
  const refused = await ask(OPENAI, poor.key, { model: 'anthropic/claude-3.5-sonnet' })
  expect([refused.status, await refused.json()]).toMatchObject([402, { error: { code: 'PLAN_REQUIRED' } }])
  // The status must not look like a provider failure to the agent.
  expect((await ask(OPENAI, poor.agentToken, { model: 'anthropic/claude-3.5-sonnet' })).status).toBe(429)
  expect((await ask(OPENAI, poor.key, { model: 'openai/gpt-4o', fallbacks: ['local/echo'] })).status).toBe(402)
  expect((await test.recordedUsage()).every(({ isOwnKey, userId }) => isOwnKey && userId === poor.user.id)).toBe(true)
})

test('GET /api/models: 200 with the models of the user’s own key when nothing else is configured', async () => {
  await using test = await installation({ providers: [] })
  const headers = { cookie: `service-session=${await test.platform.sessions.create(test.ada.user.id)}` }
  const list = async (path: string, as = {}) => read(Listed, test.web.request(path, { headers: as }))
  const ask = () => test.ask(OPENAI, { messages: HI }, bearer(test.ada.agentToken))
  expect(await list('/api/models', headers)).toEqual({ models: [], defaultModel: null })
  expect((await ask()).status).toBe(503)
  await test.enable()
  const { models, defaultModel } = await list('/api/models', headers)
  expect(models.map(({ id }) => id)).toContain('openai/gpt-4o-mini')
  expect(defaultModel).toBe('openai/gpt-4o')
  expect((await list('/api/ai/models', headers)).models).toHaveLength(models.length)
  expect((await list('/api/ai/models/openai', headers)).models).toHaveLength(models.length)
  // The agent of a user who has not chosen a model.
  const response = await ask()
  expect([response.status, response.headers.get('x-provider')]).toEqual([200, 'openai'])
  const eve = await test.join('solo', 'eve@example.com')
  for (const as of [{}, eve.cookie]) {
    expect((await list('/api/models', as)).models).toEqual([])
    expect((await list('/api/ai/models', as)).models).toEqual([])
  }
  expect((await test.ask(OPENAI, { messages: HI }, bearer(eve.key))).status).toBe(503)
})

test('a user’s own key, and its failure, affects only that user', async () => {
  await using test = await installation()
  await test.enable()
  const eve = await test.join('solo', 'eve@example.com')
  expect((await test.ask(OPENAI, { model: 'openai/gpt-4o', messages: HI }, bearer(eve.key))).status).toBe(200)
  expect(test.vendor.chats).toEqual([])
  test.vendor.answerWith({ fault: { status: 401 } })
  expect((await test.say('openai/gpt-4o')).status).toBe(502)
  expect((await test.ask(OPENAI, { model: 'openai/gpt-4o', messages: HI }, bearer(eve.key))).status).toBe(200)
})

test('POST /api/billing: 200 for disable-byok, and the key is deleted', async () => {
  await using test = await installation()
  await test.enable()
  const response = await test.bill({ action: 'disable-byok' })
  expect(await response.json()).toEqual({ success: true, message: 'BYOK disabled. Using platform credits.' })
  expect(await test.billing()).toMatchObject({ byokEnabled: false })
  await test.say('openai/gpt-4o')
  expect(test.vendor.chats).toEqual([])
})

test('a user’s own key is in no log, and in the database only encrypted', async () => {
  await using test = await installation()
  await test.enable()
  await test.say('openai/gpt-4o')
  expect(dumpTables(test.platform.db)).not.toContain(OWN_KEY)
  expect(test.logLines.join('')).not.toContain(OWN_KEY)
})

test.each([
  [{ action: 'enable-byok' }, 'API key and provider required'],
  [{ action: 'enable-byok', apiKey: 'x' }, 'API key and provider required'],
  [{ action: 'enable-byok', apiKey: 'x', provider: 'acme' }, 'Provider acme is not supported'],
  [{ action: 'nothing' }, 'Invalid action'],
  [{}, 'Invalid action'],
])('POST /api/billing: 400 when the body is %j', async (body, error) => {
  await using test = await installation()
  const response = await test.bill(body)
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
})

test('POST /api/billing: 400 when the provider refuses the key', async () => {
  await using test = await installation()
  test.vendor.listModelsWith(401)
  const response = await test.enable()
  expect(response.status).toBe(400)
  const refused = { code: 'CREDENTIALS_REFUSED' }
  expect(await response.json()).toEqual({ error: 'Provider openai does not accept this key', ...refused })
  // OpenRouter lists its models without a valid key.
  test.vendor.listModelsWith(200)
  test.vendor.answerWith({ fault: { status: 401 } })
  const other = await test.bill({ action: 'enable-byok', apiKey: OWN_KEY, provider: 'openrouter' })
  const error = 'Provider openrouter does not accept this key'
  expect([other.status, await other.json()]).toEqual([400, { error, ...refused }])
  expect(await test.billing()).toMatchObject({ byokEnabled: false })
})

test('POST /api/billing: 400 for enable-byok when the provider refuses the key with 400, as Gemini does', async () => {
  await using test = await installation()
  test.vendor.listModelsWith(400)
  const response = await test.enable()
  expect([response.status, await response.json()]).toMatchObject([400, { code: 'CREDENTIALS_REFUSED' }])
  expect(await test.billing()).toMatchObject({ byokEnabled: false })
})

test('POST /api/billing: 502 for enable-byok when the provider is unreachable, and nothing is saved', async () => {
  await using test = await installation()
  await test.vendor.stop()
  const response = await test.enable()
  expect(response.status).toBe(502)
  expect(await response.json()).toEqual({
    error: 'The key could not be tried, so nothing was saved: AI provider openai cannot be reached',
  })
  expect(await test.billing()).toMatchObject({ byokEnabled: false })
})

test('tryKey throws upstream_timeout when the provider does not answer in time', async () => {
  await using vendor = await startProvider()
  using silent = Bun.serve({ port: 0, fetch: () => new Promise<never>(() => undefined) })
  const open = (baseUrl: string) =>
    createHttpProvider({ id: 'openai', baseUrl, apiKey: OWN_KEY, timeoutMs: 60_000 }, { fetch })
  await tryKey(open(vendor.baseUrl), 5000)
  const tried = tryKey(open(`http://127.0.0.1:${silent.port}`), 20)
  await expect(tried).rejects.toMatchObject({ kind: 'upstream_timeout' })
})

test('POST /api/billing: 200 with the month’s tokens, 503 for cards, 401 without a session', async () => {
  await using test = await installation()
  const now = test.clock.now()
  await test.say('openai/gpt-4o')
  await test.platform.usage.flush()
  expect(await (await test.bill({ action: 'get-usage' })).json()).toEqual({
    monthlyTokens: 2_000_000,
    used: 1500,
    remaining: 1_998_500,
    resetsAt: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
  })
  for (const order of [
    { action: 'create-checkout', plan: 'label' },
    { action: 'buy-credits', pack: '50' },
  ]) {
    const response = await test.bill(order)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'NOT_CONFIGURED' })
  }
  expect((await test.bill({ action: 'get-usage' }, {})).status).toBe(401)
  expect((await test.web.request('/api/billing')).status).toBe(401)
})
