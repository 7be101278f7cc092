import { expect, test } from 'bun:test'
import { z } from 'zod'
import { aiPlatform, echoProvider } from '../../../../tests/harness/ai-platform.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { createAiHealth } from '../gateway/providers.ts'
import { ModelList } from '../gateway/schemas.ts'

const Models = z.looseObject({ models: z.array(z.looseObject({ id: z.string() })), count: z.number() })
const NEVER = new AbortController().signal
const OPENAI = '/v1/chat/completions'
const MINI = 'openai/gpt-4o-mini'
const ON_SOLO = { ...bearer(INTERNAL_KEY), 'x-user-plan': 'solo', 'x-billing-subscription-id': 'sub_1' }

test('GET /api/ai/health: 200 healthy when every provider responds, degraded when one does not', async () => {
  await using test = await aiPlatform()
  const health = await test.backend.request('/api/ai/health')
  expect(health.status).toBe(200)
  expect(await health.json()).toEqual({
    status: 'healthy',
    providers: { openrouter: true },
    timestamp: test.clock.now().toISOString(),
  })
})

test('GET /api/ai/health: 200 degraded when a provider refuses', async () => {
  await using test = await aiPlatform()
  test.provider.listModelsWith(401)
  expect(await (await test.backend.request('/api/ai/health')).json()).toMatchObject({
    status: 'degraded',
    providers: { openrouter: false },
  })
})

test('GET /api/ai/health: 200 degraded without any provider', async () => {
  const { backend } = testPlatform()
  expect(await (await backend.request('/api/ai/health')).json()).toMatchObject({ status: 'degraded', providers: {} })
})

test('GET /api/ai/health: 200 from a cached probe, so that requests cannot flood the providers', async () => {
  let asked = 0
  const listModels = async () => {
    asked++
    return []
  }
  const provider = { ...echoProvider(), listModels }
  const probe = createAiHealth({ providers: [provider], log: testPlatform().platform.log })
  await Promise.all([probe(), probe(), probe()])
  await probe()
  expect(asked).toBe(1)
})

test('GET /api/ai/models: 200 with available models, prices, and a count for each provider', async () => {
  await using test = await aiPlatform({})
  await test.platform.catalogue.refresh(NEVER)
  const response = await test.backend.request('/api/ai/models')
  expect(response.status).toBe(200)
  const body = await read(Models, response)
  expect(body).toMatchObject({ count: 4, openrouter: 4, timestamp: test.clock.now().toISOString() })
  expect(body.models.find(({ id }) => id === 'openai/gpt-4o-mini')).toEqual({
    id: 'openai/gpt-4o-mini',
    name: 'openai/gpt-4o-mini',
    provider: 'openrouter',
    description: expect.any(String),
    tags: ['cloud'],
    inputCost: 0.15,
    outputCost: 0.6,
    contextWindow: 128_000,
    available: true,
  })
  expect(body.models.find(({ id }) => id === 'unknown/nobody-knows-its-price')).toMatchObject({
    inputCost: null,
    outputCost: null,
  })
})

test('GET /api/ai/models: 200 with the aggregator’s model details, also when a vendor’s own key is configured', async () => {
  await using test = await aiPlatform()
  const provider = (id: string, baseUrl: string) =>
    createHttpProvider({ id, baseUrl, apiKey: 'k', timeoutMs: 60_000 }, { fetch })
  const { backend, platform } = testPlatform({
    providers: [provider('openrouter', test.provider.baseUrl), provider('openai', 'http://127.0.0.1:1/v1')],
  })
  await platform.catalogue.refresh(NEVER)
  const { models } = await read(Models, backend.request('/api/ai/models'))
  expect(models.find(({ id }) => id === 'openai/gpt-4o')).toEqual({
    id: 'openai/gpt-4o',
    name: 'OpenAI: GPT-4o',
    provider: 'openai',
    description: 'Sees and speaks.',
    tags: ['cloud', 'tools', 'vision', 'long-context'],
    inputCost: 2.5,
    outputCost: 10,
    contextWindow: 256_000,
    available: true,
  })
})

test.each([
  ['general', 'openai/gpt-4o-mini', 'solo'],
  ['coding', 'google/gemini-2.0-flash-001', 'solo'],
  ['reasoning', 'deepseek/deepseek-r1', 'network'],
  ['analysis', 'deepseek/deepseek-r1', 'network'],
  ['creative', 'moonshotai/kimi-k2.5', 'network'],
  ['nobody knows it', 'anthropic/claude-opus-4.6', 'network'],
] as const)('POST /api/ai/models/select: 200 for the task %p with %p on %s', async (taskType, id, plan) => {
  await using test = await aiPlatform()
  const { key } = await test.join(plan)
  const response = await test.backend.request('/api/ai/models/select', json('POST', { taskType }, bearer(key)))
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    model: { id, provider: 'openrouter' },
    taskType,
    timestamp: test.clock.now().toISOString(),
  })
})

test('POST /api/ai/models/select: 200 with the cheapest model whose context is large enough; 401 and 404', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(NEVER)
  const { key } = await test.join('network')
  const select = (body: object, headers: Record<string, string>) =>
    test.backend.request('/api/ai/models/select', json('POST', body, headers))
  expect(await (await select({ taskType: 'long' }, bearer(key))).json()).toMatchObject({
    model: { id: 'openai/gpt-4o' },
  })
  expect((await select({}, {})).status).toBe(401)
  const { key: narrow } = await createKey(
    { db: test.platform.db, clock: test.clock },
    (await test.signIn('eve@example.com', 'network')).user.id,
    { name: 'x', models: ['nobody/nothing'] },
  )
  const none = await select({}, bearer(narrow))
  expect(none.status).toBe(404)
  expect(await none.json()).toEqual({ error: 'No models available' })
})

test('POST /api/ai/models/select: 200 with any bearer, without a plan and without a body', async () => {
  await using test = await aiPlatform()
  const poor = await test.join(null)
  const select = (headers: Record<string, string>, body?: object) =>
    test.backend.request('/api/ai/models/select', body ? json('POST', body, headers) : { method: 'POST', headers })
  for (const token of [poor.key, poor.agentToken, INTERNAL_KEY]) {
    const response = await select(bearer(token), { taskType: 'general' })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ model: { id: MINI, provider: 'openrouter' } })
    expect((await select(bearer(token))).status).toBe(200)
  }
  expect((await select(bearer('sk_wrong'), {})).status).toBe(401)
})

test('POST /api/ai/models/select: 404 when no provider is configured', async () => {
  const { backend } = testPlatform()
  const response = await backend.request('/api/ai/models/select', json('POST', {}, bearer(INTERNAL_KEY)))
  expect([response.status, await response.json()]).toEqual([404, { error: 'No models available' }])
})

test('POST /api/ai/estimate-cost: 200 with the list price; 400, 402 and 404', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  const estimate = (body: object, headers: Record<string, string> = bearer(key)) =>
    test.backend.request('/api/ai/estimate-cost', json('POST', body, headers))
  const asked = { model: 'openai/gpt-4o', inputTokens: 1_000_000, outputTokens: 100_000 }
  const response = await estimate(asked)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    ...asked,
    estimatedCost: 3.5,
    currency: 'USD',
    timestamp: test.clock.now().toISOString(),
  })
  for (const body of [{}, { model: 'openai/gpt-4o' }, { ...asked, inputTokens: '7' }]) {
    const refused = await estimate(body)
    expect(refused.status).toBe(400)
    expect(await refused.json()).toEqual({ error: 'Model, inputTokens, and outputTokens are required' })
  }
  expect((await estimate({ ...asked, outputTokens: -1 })).status).toBe(400)
  expect((await estimate(asked, {})).status).toBe(402)
  expect((await estimate({ ...asked, model: 'nobody/nothing' })).status).toBe(404)
})

test('POST /api/ai/estimate-cost: 200 with the list price of a published model, with any provider', async () => {
  const { backend, platform } = testPlatform({ providers: [echoProvider()] })
  await platform.catalogue.refresh(NEVER)
  const asked = { model: 'google/gemini-2.0-flash', inputTokens: 1_000_000, outputTokens: 1_000_000 }
  const response = await backend.request('/api/ai/estimate-cost', json('POST', asked, ON_SOLO))
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ estimatedCost: 0.5 })
})

test('findModel returns the model that a provider offers under a name, and an alias only when no provider offers it', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  const ask = async (model: string) => {
    const response = await test.ask(OPENAI, { model, messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
    return [response.status, test.provider.chats.at(-1)?.body.model]
  }
  test.provider.offer(['google/gemini-2.0-flash-001'])
  await test.platform.catalogue.refresh(NEVER)
  expect(await ask('google/gemini-2.0-flash')).toEqual([200, 'google/gemini-2.0-flash-001'])
  test.provider.offer(['google/gemini-2.0-flash', 'google/gemini-2.0-flash-001'])
  await test.platform.catalogue.refresh(NEVER)
  expect(await ask('google/gemini-2.0-flash')).toEqual([200, 'google/gemini-2.0-flash'])
  expect(await ask('google/gemini-2.0-flash-001')).toEqual([200, 'google/gemini-2.0-flash-001'])
})

test.each([
  ['openai/gpt-4', 'solo', 403],
  ['gpt-4', 'solo', 403],
  ['anthropic/claude-opus-4.6', 'label', 403],
  ['openai/gpt-4o-mini', 'solo', 404],
  ['openai/gpt-4', 'network', 404],
  ['nobody/nothing', 'solo', 404],
] as const)(
  'POST /v1/chat/completions when no provider serves the model: %s on %s, %d',
  async (model, plan, status) => {
    await using test = await aiPlatform()
    test.provider.offer(['mistralai/mistral-7b-instruct'])
    await test.platform.catalogue.refresh(NEVER)
    const { key } = await test.join(plan)
    const response = await test.ask(OPENAI, { model, messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code: status === 403 ? 'MODEL_RESTRICTED' : null } })
  },
)

test('GET /api/ai/models: 200 without a price when it depends on the call', async () => {
  const depends = { id: 'openrouter/auto', pricing: { prompt: '-1', completion: '-1' } }
  using server = Bun.serve({ port: 0, fetch: () => Response.json({ data: [depends] }) })
  const provider = createHttpProvider(
    { id: 'openrouter', baseUrl: `http://127.0.0.1:${server.port}`, apiKey: 'k', timeoutMs: 5000 },
    { fetch },
  )
  const { backend, platform } = testPlatform({ providers: [provider] })
  await platform.catalogue.refresh(NEVER)
  const { models } = await read(Models, backend.request('/api/ai/models'))
  expect(models).toMatchObject([{ id: 'openrouter/auto', inputCost: null, outputCost: null }])
})

test('GET /api/ai/models: 200 with the built-in list before a provider has answered', async () => {
  await using test = await aiPlatform()
  expect((await read(Models, test.backend.request('/api/ai/models'))).count).toBeGreaterThan(100)
})

test('GET /api/ai/models: 200 with the previous models when a provider stops responding', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(NEVER)
  test.provider.listModelsWith(500)
  await test.platform.catalogue.refresh(NEVER)
  expect((await read(Models, test.backend.request('/api/ai/models'))).count).toBe(4)
})

test('GET /api/ai/models: 200 with the other providers’ models when one provider does not answer', async () => {
  const hanging = { ...echoProvider(), id: 'ollama', listModels: () => new Promise<never>(() => undefined) }
  const { platform, backend } = testPlatform({ providers: [hanging, echoProvider()] })
  void platform.catalogue.refresh(NEVER)
  const listed = until('the other’s models', async () => {
    const { models } = await read(Models, backend.request('/api/ai/models'))
    return models.length > 0 ? models : null
  })
  expect(await listed).toMatchObject([{ id: 'local/echo', provider: 'local', tags: ['local'] }])
})

test('GET /api/ai/models/:provider: 200 with the models of one provider, and none when it is unknown', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(NEVER)
  const modelsOf = async (provider: string) => (await test.backend.request(`/api/ai/models/${provider}`)).json()
  expect(await modelsOf('openrouter')).toMatchObject({
    provider: 'openrouter',
    count: 4,
    timestamp: expect.any(String),
  })
  expect(await modelsOf('nobody')).toMatchObject({ provider: 'nobody', count: 0, models: [] })
})

test('POST /v1/chat/completions: 200 by the vendor’s own key before the aggregator, with the vendor’s name of the model', async () => {
  await using test = await aiPlatform()
  const { baseUrl } = test.provider
  const provider = (id: string) => createHttpProvider({ id, baseUrl, apiKey: 'k', timeoutMs: 60_000 }, { fetch })
  const { backend } = testPlatform({ providers: [provider('openrouter'), provider('anthropic')] })
  const { models } = await read(Models, backend.request('/api/ai/models'))
  expect(models.find(({ id }) => id === 'anthropic/claude-opus-4.6')).toMatchObject({ provider: 'anthropic' })
  expect(models.find(({ id }) => id === 'openai/gpt-4o')).toMatchObject({ provider: 'openrouter' })
})

test.each([
  ['anthropic', ['claude-opus-9', 'claude-sonnet-4-5-20250929', 'other-1'], ['anthropic/claude-opus-9']],
  ['openai', ['gpt-9', 'gpt-9-audio', 'gpt-4o-2024-08-06', 'whisper-1', 'o9-mini'], ['openai/gpt-9', 'openai/o9-mini']],
])('GET /api/ai/models: 200 with new chat models when %s lists them', async (id, listed, expected) => {
  await using test = await aiPlatform()
  test.provider.offer(listed)
  const { baseUrl } = test.provider
  const provider = createHttpProvider({ id, baseUrl, apiKey: 'k', timeoutMs: 60_000 }, { fetch })
  const { backend, platform } = testPlatform({ providers: [provider] })
  const list = async () => (await read(Models, backend.request('/api/ai/models'))).models.map((model) => model.id)
  const before = await list()
  await platform.catalogue.refresh(NEVER)
  expect((await list()).filter((model) => !before.includes(model))).toEqual(expected)
})

test.each([
  ['nobody', null, {}, 'openai/gpt-4o-mini'],
  ['someone on solo', 'solo', {}, 'openai/gpt-4o-mini'],
  ['someone on network', 'network', {}, 'anthropic/claude-opus-4.6'],
  ['an admin', null, { ADMIN_EMAILS: 'ada@example.com' }, 'anthropic/claude-opus-4.6'],
] as const)(
  'GET /api/models: 200 for %s with prices per token and their default',
  async (who, plan, environment, expected) => {
    await using test = await aiPlatform({ environment })
    await test.platform.catalogue.refresh(NEVER)
    const headers = who === 'nobody' ? {} : (await test.signIn('ada@example.com', plan)).cookie
    const response = await test.web.request('/api/models', { headers })
    expect(response.status).toBe(200)
    const { models, defaultModel } = await read(ModelList, response)
    expect(defaultModel).toBe(expected)
    expect(models.find(({ id }) => id === 'openai/gpt-4o-mini')).toEqual({
      id: 'openai/gpt-4o-mini',
      name: 'openai/gpt-4o-mini',
      provider: 'openrouter',
      contextLength: 128_000,
      pricing: { prompt: 0.00000015, completion: 0.0000006 },
    })
  },
)

test('GET /api/models: 200 with an empty list when nothing is configured', async () => {
  const { web } = testPlatform()
  expect(await (await web.request('/api/models')).json()).toEqual({ models: [], defaultModel: null })
})

test('GET /v1/models: 200 with the models of the bearer’s plan in OpenAI’s format', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(NEVER)
  const solo = await test.join('solo')
  const network = await test.join('network', 'eve@example.com')
  const idsOf = async (token: string) => {
    const body = await (await test.backend.request('/v1/models', { headers: bearer(token) })).json()
    return z.object({ object: z.literal('list'), data: z.array(z.looseObject({ id: z.string() })) }).parse(body).data
  }
  expect(await idsOf(solo.key)).toEqual([
    { id: 'openai/gpt-4o-mini', object: 'model', created: 0, owned_by: 'openrouter', provider: 'openrouter' },
    { id: 'openai/gpt-4o', object: 'model', created: 0, owned_by: 'openrouter', provider: 'openrouter' },
  ])
  expect(await idsOf(network.agentToken)).toHaveLength(4)
})

test('GET /v1/models/:model: 200 in OpenAI’s format when the id has a slash, plain or encoded', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(NEVER)
  const { key } = await test.join('solo')
  for (const id of ['openai/gpt-4o-mini', 'openai%2Fgpt-4o-mini', 'gpt-4o-mini']) {
    const response = await test.backend.request(`/v1/models/${id}`, { headers: bearer(key) })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      id: 'openai/gpt-4o-mini',
      object: 'model',
      created: 0,
      owned_by: 'openrouter',
      provider: 'openrouter',
    })
  }
})

test('GET /v1/models/:model: 404 in OpenAI’s format when the model is unknown or outside the plan', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(NEVER)
  const { key } = await test.join('solo')
  for (const id of ['nobody/nothing', 'anthropic/claude-opus-4.6']) {
    const response = await test.backend.request(`/v1/models/${id}`, { headers: bearer(key) })
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({
      error: {
        message: `The model \`${id}\` does not exist or you do not have access to it.`,
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    })
  }
  expect((await test.backend.request('/v1/models/gpt-4o-mini')).status).toBe(401)
})

test.each([
  ['gpt-4o-mini', 'openai/gpt-4o-mini'],
  ['claude-sonnet-4-5', 'anthropic/claude-sonnet-4.5'],
  ['claude-sonnet-4-5-20250929', 'anthropic/claude-sonnet-4.5'],
  ['anthropic/claude-opus-4-6', 'anthropic/claude-opus-4.6'],
  ['gemini-2.5-flash', 'google/gemini-2.5-flash'],
  ['deepseek-r1', 'deepseek/deepseek-r1'],
])('POST /v1/chat/completions: 200 with the vendor’s name %s, served by %s', async (name, id) => {
  await using test = await aiPlatform()
  const { key } = await test.join('network')
  const response = await test.ask(OPENAI, { model: name, messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
  expect(response.status).toBe(200)
  expect(response.headers.get('x-model')).toBe(id)
  expect(test.provider.chats.at(-1)?.body.model).toBe(id)
  expect(await test.recordedUsage()).toMatchObject([{ model: id }])
})

test('POST /v1/chat/completions: 403 when a bare name is of a model outside the plan or the models of the key', async () => {
  await using test = await aiPlatform()
  const { key, user } = await test.join('solo')
  const HI = [{ role: 'user', content: 'Hi' }]
  expect((await test.ask(OPENAI, { model: 'claude-opus-4-6', messages: HI }, bearer(key))).status).toBe(403)
  const deps = { db: test.platform.db, clock: test.clock }
  const { key: narrow } = await createKey(deps, user.id, { name: 'x', models: ['gpt-4o-mini'] })
  expect((await test.ask(OPENAI, { model: 'openai/gpt-4o-mini', messages: HI }, bearer(narrow))).status).toBe(200)
  expect((await test.ask(OPENAI, { model: 'gpt-4o', messages: HI }, bearer(narrow))).status).toBe(403)
})
