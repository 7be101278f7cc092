import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import {
  type Answering,
  type Fault,
  type ProviderDouble,
  startProvider,
} from '../../../../tests/harness/doubles/provider.ts'
import { bearer } from '../../../../tests/harness/requests.ts'
import { readAllEvents } from '../../../../tests/harness/wires/events.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { TIERS } from '../catalogue/known-models.ts'

const CHAT = '/api/ai/chat'
const OPENAI = '/v1/chat/completions'
const HI = [{ role: 'user', content: 'Hi' }]
const MINI = 'openai/gpt-4o-mini'
const BIG = 'openai/gpt-4o'
const OPUS = 'anthropic/claude-opus-4.6'
/** Long enough for those that do answer. */
const SLOW_MS = 1000

/** Fails for the models named, answers for all others. */
function failing(faults: Record<string, Fault>): Answering {
  return ({ body }) => {
    const fault = faults[body.model ?? '']
    return fault ? { fault } : {}
  }
}

const modelsAsked = (test: { provider: ProviderDouble }) => test.provider.chats.map(({ body }) => body.model)

const FAULTS: Fault[] = [
  { status: 401 },
  { status: 402 },
  { status: 403 },
  { status: 404 },
  { status: 408 },
  { status: 429 },
  { status: 429, headers: { 'retry-after': '60' } },
  { status: 500 },
  { status: 502 },
  { status: 503 },
  'reset',
  'malformed-json',
  'html',
  'empty-choices',
  { cutAtByte: 1 },
  { cutAtByte: 60 },
  'hang',
  'hang-mid-body',
]
/** May a request that ended so have cost something? A provider that refuses takes nothing. */
function isSpent(fault: Fault): boolean {
  return fault !== 'html' && !(typeof fault === 'object' && 'status' in fault)
}

const CASES = FAULTS.flatMap((fault) => [1, 2].map((broken) => ({ fault, broken })))

test.each(CASES)('a tier answers with the next target when its first ones fail: %j', async ({ fault, broken }) => {
  const isSlow = fault === 'hang' || fault === 'hang-mid-body'
  await using test = await aiPlatform({ timeoutMs: isSlow ? SLOW_MS : 60_000 })
  const { key } = await test.join('network')
  const models = TIERS.reasoning.models
  test.provider.answerWith(failing(Object.fromEntries(models.slice(0, broken).map((model) => [model, fault]))))
  // Credentials are the provider's: when they fail, nothing at it can answer, whatever the model.
  const response = await test.ask(CHAT, { messages: HI, taskType: 'reasoning' }, bearer(key))
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ model: models[broken], message: { content: 'Hello.' } })
  expect(response.headers.get('x-model')).toBe(models[broken] ?? '')
  expect(response.headers.get('x-attempts')).toBe(String(broken + 1))
  expect(modelsAsked(test)).toEqual([...models.slice(0, broken + 1)])
  const lost = models.slice(0, broken).map((model, index) => ({ model, attempts: index + 1, success: false }))
  const served = { model: models[broken], attempts: broken + 1, success: true, estimated: false }
  const usage = (await test.recordedUsage()).toSorted((one, other) => one.attempts - other.attempts)
  expect(usage).toMatchObject([...(isSpent(fault) ? lost : []), served])
})

test.each(FAULTS)(
  'a stream continues with the next target before its first word, and never after it: %j',
  async (fault) => {
    const isSlow = fault === 'hang' || fault === 'hang-mid-body'
    await using test = await aiPlatform({ timeoutMs: isSlow ? SLOW_MS : 60_000 })
    const { key } = await test.join('network')
    const [first, second] = TIERS.coding.models
    test.provider.answerWith(failing({ [first]: fault }))
    const response = await test.ask(OPENAI, { model: 'coding', messages: HI, stream: true }, bearer(key))
    expect(response.status).toBe(200)
    const events = (await readAllEvents(response)).map(({ data }) => data)
    if (fault === 'hang-mid-body') {
      // It had begun to speak: what follows is an error, not another voice.
      expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ error: { message: expect.stringContaining('in time') } })
      expect(modelsAsked(test)).toEqual([first])
    } else {
      expect(events.at(-1)).toBe('[DONE]')
      expect(events.slice(0, -1).map((data) => JSON.parse(data).model)).toEqual(events.slice(0, -1).map(() => second))
      expect(modelsAsked(test)).toEqual([first, second])
    }
  },
)

test('POST /api/ai/chat: 400 after one attempt when the request itself is invalid', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('network')
  for (const status of [400, 413, 422]) {
    test.provider.answerWith({ fault: { status } })
    const response = await test.ask(CHAT, { messages: HI, taskType: 'fast' }, bearer(key))
    expect(response.status).toBe(400)
  }
  expect(test.provider.chats).toHaveLength(3)
})

test('POST /api/ai/chat: 502 without a fallback when the request names a model', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('network')
  test.provider.answerWith(failing({ [BIG]: { status: 500 } }))
  expect((await test.ask(CHAT, { messages: HI, model: BIG }, bearer(key))).status).toBe(502)
  expect(modelsAsked(test)).toEqual([BIG])
})

test.each([[{ model: BIG, fallbacks: [MINI] }], [{ model: BIG, models: [BIG, MINI] }], [{ models: [BIG, MINI] }]])(
  'POST /v1/chat/completions: with %j, 200 from a fallback; the provider does not receive the option',
  async (requested) => {
    await using test = await aiPlatform()
    const { key } = await test.join('network')
    test.provider.answerWith(failing({ [BIG]: { status: 503 } }))
    const response = await test.ask(OPENAI, { ...requested, messages: HI }, bearer(key))
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ model: MINI })
    for (const { body } of test.provider.chats) expect(Object.keys(body).sort()).toEqual(['messages', 'model'])
  },
)

test.each([[{ fallbacks: [OPUS] }], [{ models: [OPUS] }]])(
  'POST /v1/chat/completions: with %j outside the plan, 403 before any provider is called',
  async (requested) => {
    await using test = await aiPlatform()
    const { key } = await test.join('solo')
    const response = await test.ask(OPENAI, { model: MINI, ...requested, messages: HI }, bearer(key))
    expect(response.status).toBe(403)
    expect(test.provider.chats).toEqual([])
  },
)

test('POST /api/ai/chat: 200 with the target of a tier that the plan includes', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  const response = await test.ask(CHAT, { messages: HI, taskType: 'coding' }, bearer(key))
  expect(await response.json()).toMatchObject({ model: 'google/gemini-2.0-flash-001' })
})

test('POST /v1/chat/completions: 200 from a second provider of the model when the first one fails', async () => {
  await using aggregator = await startProvider()
  await using vendor = await startProvider({ fault: { status: 500 } })
  const openProvider = (id: string, baseUrl: string) =>
    createHttpProvider({ id, baseUrl, apiKey: 'k', timeoutMs: 60_000 }, { fetch })
  const providers = [openProvider('openrouter', aggregator.baseUrl), openProvider('openai', vendor.baseUrl)]
  await using test = await aiPlatform({ providers })
  const { key } = await test.join('network')
  const response = await test.ask(OPENAI, { model: MINI, messages: HI }, bearer(key))
  expect(response.status).toBe(200)
  expect(response.headers.get('x-provider')).toBe('openrouter')
  expect(vendor.chats.map(({ body }) => body.model)).toEqual(['gpt-4o-mini'])
  expect(aggregator.chats.map(({ body }) => body.model)).toEqual([MINI])
})

test.each([
  ['openrouter', ['openrouter', 'openai']],
  ['openai', ['openai', 'openrouter']],
  ['gemini', ['openai', 'openrouter']],
])(
  'POST /v1/chat/completions for an agent of %s: its provider is first, then others that have the model',
  async (chosen, order) => {
    await using aggregator = await startProvider()
    await using vendor = await startProvider()
    const openProvider = (id: string, baseUrl: string) =>
      createHttpProvider({ id, baseUrl, apiKey: 'k', timeoutMs: 5000 }, { fetch })
    const providers = [openProvider('openrouter', aggregator.baseUrl), openProvider('openai', vendor.baseUrl)]
    await using test = await aiPlatform({ providers })
    const { agentToken } = await test.join('solo', 'ada@example.com', chosen)
    const asked: string[] = []
    const failAs =
      (id: string): Answering =>
      () => {
        asked.push(id)
        return { fault: { status: 500 } }
      }
    aggregator.answerWith(failAs('openrouter'))
    vendor.answerWith(failAs('openai'))
    await test.ask(OPENAI, { model: MINI, messages: HI }, bearer(agentToken))
    expect(asked).toEqual(order)
  },
)

test('POST /v1/chat/completions: 200 from the default model of the agent’s vendor when no model is named', async () => {
  await using aggregator = await startProvider()
  await using vendor = await startProvider()
  const openProvider = (id: string, baseUrl: string) =>
    createHttpProvider({ id, baseUrl, apiKey: 'k', timeoutMs: 5000 }, { fetch })
  const providers = [openProvider('openrouter', aggregator.baseUrl), openProvider('gemini', vendor.baseUrl)]
  await using test = await aiPlatform({ providers })
  const ada = await test.join('network', 'ada@example.com', 'google')
  const bo = await test.join('network', 'bo@example.com', 'openrouter')
  const ask = async (token: string) =>
    (await test.ask(OPENAI, { model: 'default', messages: HI }, bearer(token))).headers.get('x-provider')
  expect([await ask(ada.agentToken), await ask(bo.agentToken)]).toEqual(['gemini', 'openrouter'])
  expect(vendor.chats.map(({ body }) => body.model)).toEqual(['gemini-2.0-flash-001'])
})

test('a provider is not called again before its Retry-After', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('network')
  test.provider.answerWith({ fault: { status: 429, headers: { 'retry-after': '60' } } })
  const ask = () => test.ask(CHAT, { messages: HI, model: BIG }, bearer(key))
  expect((await ask()).status).toBe(429)
  const again = await ask()
  expect(again.status).toBe(429)
  expect(Number(again.headers.get('retry-after'))).toBeGreaterThan(50)
  expect(test.provider.chats).toHaveLength(1)
})

test('a target is last when it fails repeatedly, and first again after a pause', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('network')
  const [first, second] = TIERS.creative.models
  test.provider.answerWith(failing({ [first]: { status: 500 } }))
  const ask = () => test.ask(CHAT, { messages: HI, taskType: 'creative' }, bearer(key))
  for (let call = 0; call < 3; call++) await ask()
  test.provider.chats.splice(0)
  expect((await ask()).headers.get('x-attempts')).toBe('1')
  expect(modelsAsked(test)).toEqual([second])
})
