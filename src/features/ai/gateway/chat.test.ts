import { expect, test } from 'bun:test'
import { aiPlatform, echoProvider } from '../../../../tests/harness/ai-platform.ts'
import { type Fault, startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { write } from '../../../db/write.ts'
import { PLANS } from '../../accounts/plans/plans.ts'
import { usageMonths } from '../usage/tables.ts'

const HELLO = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }
const SERVICE = bearer(INTERNAL_KEY)
const ON_SOLO = { ...SERVICE, 'x-user-plan': 'solo', 'x-billing-subscription-id': 'sub_1', 'x-user-id': 'usr_1' }

test('POST /api/ai/chat: 200 with answer, model, provider and usage, which is recorded', async () => {
  await using test = await aiPlatform()
  const response = await test.ask('/api/ai/chat', { ...HELLO, temperature: 0.5 }, ON_SOLO)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    id: 'chatcmpl-double',
    model: 'openai/gpt-4o-mini',
    provider: 'openrouter',
    message: { role: 'assistant', content: 'Hello.' },
    usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 },
    timestamp: test.clock.now().toISOString(),
  })
  expect(test.provider.chats).toMatchObject([
    {
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer sk-or-test' },
      body: { ...HELLO, temperature: 0.5 },
    },
  ])
  expect(await test.recordedUsage()).toMatchObject([
    {
      userId: 'usr_1',
      agentId: 'direct',
      model: 'openai/gpt-4o-mini',
      inputTokens: 1000,
      outputTokens: 500,
      costMicroUsd: 450,
      endpoint: '/api/ai/chat',
      latencyMs: expect.any(Number),
      success: true,
      errorMessage: null,
    },
  ])
})

test('POST /api/ai/chat: 200 with the plan of the key’s owner, whatever the headers contain', async () => {
  await using test = await aiPlatform()
  const { key, user } = await test.join('solo')
  const lies = { 'x-user-plan': 'network', 'x-user-id': 'usr_other', 'x-user-email': 'root@example.com' }
  expect((await test.ask('/api/ai/chat', HELLO, { ...bearer(key), ...lies })).status).toBe(200)
  expect(await test.recordedUsage()).toMatchObject([{ userId: user.id, agentId: 'direct' }])
  const restricted = await test.ask('/api/ai/chat', { ...HELLO, model: 'openai/gpt-4' }, { ...bearer(key), ...lies })
  expect(restricted.status).toBe(403)
})

test('POST /api/ai/chat: 200 with an agent’s token, recorded for its owner and the agent', async () => {
  await using test = await aiPlatform()
  const { agentToken, agentId, user } = await test.join('solo')
  expect((await test.ask('/api/ai/chat', HELLO, bearer(agentToken))).status).toBe(200)
  expect(await test.recordedUsage()).toMatchObject([{ userId: user.id, agentId }])
})

const NO_PLAN = { error: expect.any(String), success: false, code: 'PLAN_REQUIRED' }
const NO_SUBSCRIPTION = { error: expect.any(String), success: false, code: 'SUBSCRIPTION_REQUIRED' }
const PLANNED = { 'x-user-plan': 'solo', 'x-billing-subscription-id': 'sub_1' }
test.each<[string, number, Record<string, string>, unknown]>([
  ['nothing at all', 402, {}, NO_PLAN],
  ['a plan that is none', 402, { ...SERVICE, 'x-user-plan': 'gold' }, NO_PLAN],
  ['the plan free', 402, { ...SERVICE, 'x-user-plan': 'free', 'x-billing-subscription-id': 'sub_1' }, NO_PLAN],
  ['a plan without a subscription', 402, { ...SERVICE, 'x-user-plan': 'solo' }, NO_SUBSCRIPTION],
  ['a wrong bearer and no plan', 402, bearer('wrong'), NO_PLAN],
  ['a plan and no bearer', 401, PLANNED, { error: 'Unauthorized' }],
  ['a plan and a wrong key', 401, { ...PLANNED, ...bearer('sk_wrong') }, { error: 'Unauthorized' }],
  ['a plan and a wrong agent token', 401, { ...PLANNED, ...bearer('agt_wrong') }, { error: 'Unauthorized' }],
  ['a plan and a wrong internal key', 403, { ...PLANNED, ...bearer('wrong') }, { error: 'Forbidden' }],
  ['all that is asked for, and a bad body', 400, { ...PLANNED, ...SERVICE }, { error: 'Messages array is required' }],
])('POST /api/ai/chat: with %s, %d', async (_what, status, headers, body) => {
  await using test = await aiPlatform()
  const response = await test.ask('/api/ai/chat', {}, headers)
  expect(response.status).toBe(status)
  expect(await response.json()).toEqual(body)
  expect(test.provider.chats).toEqual([])
  expect(await test.recordedUsage()).toEqual([])
})

test('POST /api/ai/chat: 200 recorded for anonymous without x-user-id', async () => {
  await using test = await aiPlatform()
  expect((await test.ask('/api/ai/chat', HELLO, { ...PLANNED, ...SERVICE })).status).toBe(200)
  expect(await test.recordedUsage()).toMatchObject([{ userId: 'anonymous' }])
})

test('POST /api/ai/chat: the same status and text for the e-mail of an administrator as for any other, without the internal key', async () => {
  await using test = await aiPlatform({ environment: { ADMIN_EMAILS: 'root@example.com' } })
  for (const headers of [{}, bearer('wrong'), bearer('sk_wrong')]) {
    const answerTo = async (email: string) => {
      const response = await test.ask('/api/ai/chat', HELLO, { 'x-user-email': email, ...headers })
      return [response.status, await response.text()]
    }
    expect(await answerTo('root@example.com')).toEqual(await answerTo('eve@example.com'))
  }
})

test.each<[string, Record<string, string>, number]>([
  ['alone', {}, 402],
  ['with a wrong internal key', bearer('wrong'), 402],
  ['with the internal key', SERVICE, 200],
])('POST /api/ai/chat with the e-mail of an administrator in a header, %s', async (_what, headers, status) => {
  await using test = await aiPlatform({ environment: { ADMIN_EMAILS: 'root@example.com' } })
  const response = await test.ask('/api/ai/chat', HELLO, { 'x-user-email': 'Root@Example.com', ...headers })
  expect(response.status).toBe(status)
  expect(test.provider.chats).toHaveLength(status === 200 ? 1 : 0)
})

test('POST /api/ai/chat: 402 when the owner of the key has no plan, or the subscription has ended', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join(null)
  const response = await test.ask('/api/ai/chat', HELLO, { ...bearer(key), ...PLANNED })
  expect(response.status).toBe(402)
  expect(await response.json()).toEqual(NO_PLAN)
})

test.each([
  [{ messages: [] }, 'Messages array is required'],
  [{ messages: 'Hi' }, 'Messages array is required'],
  [{ messages: [{ role: 'tool', content: 'x' }] }, 'role must be user, assistant or system'],
  [{ messages: [{ role: 'user', content: 7 }] }, 'content must be text'],
  [{ ...HELLO, model: '' }, 'model must be text'],
  [{ ...HELLO, temperature: 3 }, 'temperature must be 0 to 2'],
  [{ ...HELLO, top_p: 2 }, 'top_p must be 0 to 1'],
  [{ ...HELLO, max_tokens: 0 }, 'max_tokens must be positive'],
  [{ ...HELLO, max_tokens: 1.5 }, 'max_tokens must be whole'],
])('POST /api/ai/chat: 400 when the body is %j', async (body, error) => {
  await using test = await aiPlatform()
  const response = await test.ask('/api/ai/chat', body, ON_SOLO)
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
  expect(await test.recordedUsage()).toEqual([])
})

test('POST /api/ai/chat: 403 with the models of the plan when the model is another one', async () => {
  await using test = await aiPlatform()
  const response = await test.ask('/api/ai/chat', { ...HELLO, model: 'openai/gpt-4' }, ON_SOLO)
  expect(response.status).toBe(403)
  expect(await response.json()).toEqual({
    error: expect.stringContaining('openai/gpt-4'),
    code: 'MODEL_RESTRICTED',
    allowedModels: PLANS.solo.models,
  })
  expect(test.provider.chats).toEqual([])
})

test('POST /api/ai/chat: 404 when no provider has the model', async () => {
  await using test = await aiPlatform()
  const response = await test.ask('/api/ai/chat', { ...HELLO, model: 'nobody/nothing' }, ON_SOLO)
  expect(response.status).toBe(404)
  expect(await response.json()).toEqual({ error: 'Model nobody/nothing is not available' })
})

test('POST /api/ai/chat: 200 with the plan’s default model when the request has none', async () => {
  await using test = await aiPlatform()
  const response = await test.ask('/api/ai/chat', { messages: HELLO.messages }, ON_SOLO)
  expect(await response.json()).toMatchObject({ model: 'openai/gpt-4o-mini' })
})

test('POST /api/ai/chat: 503 with the settings to set when no provider is configured', async () => {
  const { backend } = testPlatform()
  const response = await backend.request('/api/ai/chat', json('POST', HELLO, ON_SOLO))
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({
    error: 'No AI provider is configured. Set OPENROUTER_API_KEY.',
    code: 'NOT_CONFIGURED',
  })
})

test('POST /api/ai/chat: 429 when the month’s tokens are used up, until the next month begins', async () => {
  await using test = await aiPlatform()
  test.clock.set(new Date('2100-03-31T23:59:59Z'))
  await write(test.platform.db, (tx) =>
    tx.insert(usageMonths).values({ userId: 'usr_1', month: '2100-03', tokens: 1_999_999 }).run(),
  )
  const response = await test.ask('/api/ai/chat', HELLO, ON_SOLO)
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({
    error:
      'Monthly token quota exceeded for plan "solo". Used 1999999 of 2000000 tokens. Quota resets at the start of next month.',
    code: 'QUOTA_EXCEEDED',
  })
  expect((await test.ask('/api/ai/chat', HELLO, { ...ON_SOLO, 'x-user-plan': 'network' })).status).toBe(200)
  test.clock.advance(1000)
  expect((await test.ask('/api/ai/chat', HELLO, ON_SOLO)).status).toBe(200)
})

test.each([
  ['forth', '2100-05-02T00:00:00Z'],
  ['back', '2100-02-02T00:00:00Z'],
])(
  'POST /api/ai/chat: 200 counted in the right month when a clock jumped %s and was corrected',
  async (_how, wrong) => {
    await using test = await aiPlatform()
    const right = new Date('2100-03-15T12:00:00Z')
    const { key, user } = await test.join('solo')
    const tokens = 1_990_000
    await write(test.platform.db, (tx) =>
      tx.insert(usageMonths).values({ userId: user.id, month: '2100-03', tokens }).run(),
    )
    const ask = async (max_tokens: number) =>
      (await test.ask('/api/ai/chat', { ...HELLO, max_tokens }, bearer(key))).status
    test.clock.set(right)
    expect(await ask(1000)).toBe(200)
    test.clock.set(new Date(wrong))
    expect(await ask(1000)).toBe(200)
    test.clock.set(right)
    expect(await ask(9000)).toBe(429)
    // The limit allows 1,500 tokens of one call and one more call; usage before the clock change counts, later usage does not.
    expect(await ask(8000)).toBe(200)
    await test.recordedUsage()
    const months = test.platform.db.select().from(usageMonths).orderBy(usageMonths.month).all()
    expect(months.find(({ month }) => month === '2100-03')?.tokens).toBe(tokens + 3000)
    expect(months.find(({ month }) => month === wrong.slice(0, 7))?.tokens).toBe(1500)
  },
)

test('POST /api/ai/chat: 429 when concurrent calls would exceed the quota together', async () => {
  await using test = await aiPlatform()
  const month = test.clock.now().toISOString().slice(0, 7)
  const { key, user } = await test.join('solo')
  await write(test.platform.db, (tx) =>
    tx.insert(usageMonths).values({ userId: user.id, month, tokens: 1_990_000 }).run(),
  )
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => test.ask('/api/ai/chat', { ...HELLO, max_tokens: 4000 }, bearer(key))),
  )
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(2)
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(18)
})

/** Long enough for whatever does answer. */
const SLOW_MS = 1500
const NOTHING = { inputTokens: 0, outputTokens: 0, costMicroUsd: 0, estimated: false }
/** The provider accepted the request without reporting usage: counted input tokens plus the maximum output. */
const RESERVED = { inputTokens: 6, outputTokens: 4096, costMicroUsd: 2459, estimated: true }
const REPORTED = { inputTokens: 1000, outputTokens: 500, costMicroUsd: 450, estimated: false }
test.each<[Fault, number, object]>([
  [{ status: 401 }, 502, NOTHING],
  [{ status: 402 }, 502, NOTHING],
  [{ status: 403 }, 502, NOTHING],
  [{ status: 400 }, 400, NOTHING],
  [{ status: 500 }, 502, NOTHING],
  [{ status: 503 }, 502, NOTHING],
  [{ status: 429 }, 429, NOTHING],
  ['reset', 502, RESERVED],
  [{ cutAtByte: 40 }, 502, RESERVED],
  ['malformed-json', 502, RESERVED],
  ['html', 502, NOTHING],
  ['empty-choices', 502, REPORTED],
  ['hang', 504, RESERVED],
  ['hang-mid-body', 504, RESERVED],
])(
  'POST /api/ai/chat: when the provider has the fault %j, %d, recorded as failed with %j',
  async (fault, status, used) => {
    const isSlow = fault === 'hang' || fault === 'hang-mid-body'
    await using test = await aiPlatform({ timeoutMs: isSlow ? SLOW_MS : 60_000 })
    test.provider.answerWith({ fault })
    const response = await test.ask('/api/ai/chat', HELLO, ON_SOLO)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ error: expect.stringContaining('AI provider openrouter') })
    expect(await test.recordedUsage()).toMatchObject([
      { success: false, errorMessage: expect.stringContaining('openrouter'), ...used },
    ])
    test.provider.answerWith({})
    expect((await test.ask('/api/ai/chat', HELLO, ON_SOLO)).status).toBe(200)
  },
)

test('POST /api/ai/chat: 502 when the provider refuses connections', async () => {
  await using test = await aiPlatform()
  await test.provider.stop()
  const response = await test.ask('/api/ai/chat', HELLO, ON_SOLO)
  expect(response.status).toBe(502)
  expect(await response.json()).toEqual({ error: 'AI provider openrouter cannot be reached' })
  expect(await test.recordedUsage()).toMatchObject([{ success: false, ...NOTHING }])
})

test('POST /api/ai/chat: 429 with the provider’s Retry-After', async () => {
  await using test = await aiPlatform()
  test.provider.answerWith({ fault: { status: 429, headers: { 'retry-after': '17' } } })
  const response = await test.ask('/api/ai/chat', HELLO, ON_SOLO)
  expect(response.status).toBe(429)
  expect(response.headers.get('retry-after')).toBe('17')
})

test('POST /api/ai/chat: no response contains the platform’s credentials', async () => {
  await using test = await aiPlatform()
  const body = JSON.stringify({ error: { message: 'Bad request for key sk-or-v1-abcdefghijklmnop' } })
  test.provider.answerWith({ fault: { status: 400, body } })
  expect(await (await test.ask('/api/ai/chat', HELLO, ON_SOLO)).text()).not.toContain('abcdefghijklmnop')
})

test('POST /api/ai/chat: 200 with counted usage, marked as estimated, when the provider reports none', async () => {
  await using test = await aiPlatform()
  test.provider.answerWith({ text: 'Once upon a time there was a house.', usage: null })
  const response = await test.ask('/api/ai/chat', HELLO, ON_SOLO)
  const usage = { prompt_tokens: 6, completion_tokens: 9, total_tokens: 15, estimated: true }
  expect(await response.json()).toMatchObject({ usage })
  expect(response.headers.get('x-cost-usd')).toBe('0.000006')
  expect(response.headers.get('x-usage-estimated')).toBe('true')
  expect(await test.recordedUsage()).toMatchObject([
    { inputTokens: 6, outputTokens: 9, costMicroUsd: 6, estimated: true, success: true },
  ])
  test.provider.answerWith({})
  const reported = await test.ask('/api/ai/chat', HELLO, ON_SOLO)
  expect(reported.headers.has('x-usage-estimated')).toBe(false)
  expect(await reported.text()).not.toContain('estimated')
})

test('POST /v1/chat/completions and /v1/embeddings: 200 with x-usage-estimated when the provider reports no counts', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  const isEstimated = async (path: string, body: object) => {
    const response = await test.backend.request(path, json('POST', body, bearer(key)))
    return [response.status, response.headers.get('x-usage-estimated')]
  }
  for (const [path, body] of [
    ['/v1/chat/completions', HELLO],
    ['/v1/embeddings', { model: HELLO.model, input: 'Hi' }],
  ] as const) {
    test.provider.answerWith({ usage: null })
    expect(await isEstimated(path, body)).toEqual([200, 'true'])
    test.provider.answerWith({})
    expect(await isEstimated(path, body)).toEqual([200, null])
  }
})

test.each([
  // 600 fresh at $2.5 and 400 cached at $1.25 a million, 500 out at $10.
  [{ prompt_tokens_details: { cached_tokens: 400 } }, 7000],
  [{ prompt_cache_hit_tokens: 400 }, 7000],
  [{ prompt_tokens_details: { cached_tokens: 5000 } }, 6250],
  [{}, 7500],
  [{ prompt_tokens_details: { cached_tokens: 400 }, cost: 0.5 }, 500_000],
])('POST /api/ai/chat: 200 with the cached price for cached input: %j costs %d', async (details, costMicroUsd) => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(new AbortController().signal)
  test.provider.answerWith({ usage: { prompt_tokens: 1000, completion_tokens: 500, ...details } })
  await test.ask('/api/ai/chat', { ...HELLO, model: 'openai/gpt-4o' }, ON_SOLO)
  expect(await test.recordedUsage()).toMatchObject([{ inputTokens: 1000, outputTokens: 500, costMicroUsd }])
})

test('POST /api/ai/chat: 200 with the published price of cached input when a vendor lists none', async () => {
  await using vendor = await startProvider({
    usage: { prompt_tokens: 1_000_000, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 1_000_000 } },
  })
  const { baseUrl } = vendor
  const providers = [createHttpProvider({ id: 'openai', baseUrl, apiKey: 'k', timeoutMs: 5000 }, { fetch })]
  await using test = await aiPlatform({ providers })
  await test.ask('/api/ai/chat', HELLO, ON_SOLO)
  expect(await test.recordedUsage()).toMatchObject([{ inputTokens: 1_000_000, costMicroUsd: 75_000 }])
})

test('POST /api/ai/chat: 200 from the offline model, which says that it is one', async () => {
  const { backend, platform } = testPlatform({ providers: [echoProvider()] })
  await platform.catalogue.refresh(new AbortController().signal)
  const response = await backend.request('/api/ai/chat', json('POST', { messages: HELLO.messages }, ON_SOLO))
  expect(await response.json()).toMatchObject({
    model: 'local/echo',
    provider: 'local',
    message: { content: '[offline echo] Hi' },
  })
})

test('every route of /api/ai: 429 when one address exceeds its rate', async () => {
  const { backend } = testPlatform({ environment: { RATE_LIMIT_AI: '2' } })
  await backend.request('/api/ai/health')
  await backend.request('/api/ai/models')
  const response = await backend.request('/api/ai/chat', json('POST', HELLO, ON_SOLO))
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({ error: 'AI rate limit exceeded.' })
})
