import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { CreatedKey, Key } from '../../accounts/keys/schemas.ts'
import { RequestDetail } from '../requests/schemas.ts'

const PATH = '/v1/chat/completions'
const HELLO = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 500 }

/** A platform whose provider counts its answers, and a key with these settings. */
async function cached(settings: object = {}) {
  const test = await aiPlatform()
  let answers = 0
  test.provider.answerWith(() => ({ text: [`Answer `, String(++answers)] }))
  const who = await test.join('network')
  const created = await read(
    CreatedKey,
    test.web.request('/api/keys', json('POST', { name: 'k', ...settings }, who.cookie)),
  )
  return {
    ...test,
    ...who,
    keyId: created.id,
    key: created.key,
    say: async (body: object = HELLO, headers: Record<string, string> = {}, key = created.key) => {
      const response = await test.ask(PATH, body, { ...bearer(key), ...headers })
      return { response, cache: response.headers.get('x-stead-cache'), text: await response.text() }
    },
  }
}

test('POST /v1/chat/completions: 200 with the same answer from the cache, recorded as a hit without cost', async () => {
  await using test = await cached({ cacheSeconds: 60 })
  const first = await test.say()
  expect(first.cache).toBe('miss')
  const second = await test.say({ ...HELLO, user: 'somebody-else', fallbacks: ['openai/gpt-4o'] })
  expect([second.cache, second.text]).toEqual(['hit', first.text])
  expect(second.response.headers.get('x-cost-usd')).toBe('0.000000')
  expect(second.response.headers.get('x-model')).toBe('openai/gpt-4o-mini')
  expect((await test.say({ ...HELLO, max_tokens: 499 })).cache).toBe('miss')
  expect(test.provider.chats).toHaveLength(2)
  const calls = await test.recordedUsage()
  expect(calls.map(({ provider, costMicroUsd, inputTokens }) => [provider, costMicroUsd > 0, inputTokens])).toEqual([
    ['openrouter', true, 1000],
    ['cache', false, 0],
    ['openrouter', true, 1000],
  ])
  expect(calls[1]).toMatchObject({ keyId: test.keyId, isUnpriced: false, success: true })
  expect(calls[1]).toMatchObject({ priceSource: 'cache', finishReason: 'stop', endUser: 'somebody-else' })
  expect(second.response.headers.get('x-generation-id')).toBe(calls[1]?.generationId ?? '')
})

test('POST /v1/chat/completions: 200 and a hit is logged with finish reason, tags and bodies, whole and streamed', async () => {
  await using test = await cached({ cacheSeconds: 60, logBodies: true })
  for (const stream of [false, true]) {
    const body = { ...HELLO, stream }
    await test.say(body)
    const { response, cache } = await test.say(body, { 'x-stead-tags': 'nightly' })
    expect(cache).toBe('hit')
    await test.platform.usage.settle()
    await test.platform.bodyLog.flush()
    const path = `/api/requests/${response.headers.get('x-generation-id')}`
    const detail = await read(RequestDetail, test.web.request(path, { headers: test.cookie }))
    expect(detail).toMatchObject({ tags: ['nightly'], finishReason: 'stop', priceSource: 'cache', costUsd: 0 })
    expect(detail.bodies?.answer).toContain('Answer ')
  }
})

test('POST /v1/chat/completions: 200 with a stream, its usage and its end when a stream is repeated', async () => {
  await using test = await cached({ cacheSeconds: 60 })
  const body = { ...HELLO, stream: true }
  const first = await test.say(body)
  const second = await test.say(body)
  expect([first.cache, second.cache]).toEqual(['miss', 'hit'])
  expect(second.response.headers.get('content-type')).toStartWith('text/event-stream')
  expect(second.text).toBe(first.text)
  expect(second.text).toEndWith('data: [DONE]\n\n')
  expect((await test.say()).cache).toBe('miss')
})

test('POST /v1/chat/completions: 200 cached for the seconds of x-stead-cache, not at all with 0', async () => {
  await using test = await cached()
  expect((await test.say()).cache).toBeNull()
  expect((await test.say(HELLO, { 'x-stead-cache': '60' })).cache).toBe('miss')
  expect((await test.say(HELLO, { 'x-stead-cache': '60' })).cache).toBe('hit')
  expect((await test.say(HELLO, { 'x-stead-cache': '0' })).cache).toBeNull()
  for (const header of ['86401', '-1', 'yes', '1.5']) {
    const { response, text } = await test.say(HELLO, { 'x-stead-cache': header })
    expect([response.status, text]).toEqual([400, expect.stringContaining('x-stead-cache must be a number of seconds')])
  }
})

test('POST /v1/chat/completions: 200 without an answer of another owner or of other guardrails; 403 when the key excludes the model', async () => {
  await using test = await cached({ cacheSeconds: 60 })
  await test.say()
  const create = (settings: object, cookie = test.cookie) =>
    read(CreatedKey, test.web.request('/api/keys', json('POST', { name: 'x', cacheSeconds: 60, ...settings }, cookie)))
  expect((await test.say(HELLO, {}, (await create({})).key)).cache).toBe('hit')
  expect((await test.say(HELLO, {}, (await create({ guardrails: { deny: ['x'] } })).key)).cache).toBe('miss')
  const restricted = await test.say(HELLO, {}, (await create({ models: ['openai/gpt-4o'] })).key)
  expect(restricted.response.status).toBe(403)
  const eve = await test.signIn('eve@example.com', 'network')
  expect((await test.say(HELLO, {}, (await create({}, eve.cookie)).key)).cache).toBe('miss')
})

test('POST /v1/chat/completions: failed, broken and abandoned answers are not cached', async () => {
  await using test = await cached({ cacheSeconds: 60 })
  test.provider.answerWith({ fault: { status: 500 } })
  expect((await test.say()).response.status).toBe(502)
  test.provider.answerWith({ text: ['Hel', 'lo'], fault: 'no-done' })
  await test.say({ ...HELLO, stream: true })
  test.provider.answerWith({ text: 'Fine' })
  expect((await test.say()).cache).toBe('miss')
  expect((await test.say({ ...HELLO, stream: true })).cache).toBe('miss')
})

test('POST /v1/chat/completions: 200 from the cache when the budget of the key is used up', async () => {
  await using test = await cached({ cacheSeconds: 60, monthlyTokens: 2500 })
  expect((await test.say()).cache).toBe('miss')
  expect((await test.say({ ...HELLO, max_tokens: 2000 })).response.status).toBe(429)
  expect((await test.say()).cache).toBe('hit')
})

test('PATCH /api/keys/:id: 200 with cacheSeconds, which 0 and null remove; 400 above a day', async () => {
  await using test = await cached({ cacheSeconds: 60 })
  const change = (cacheSeconds: unknown) =>
    test.web.request(`/api/keys/${test.keyId}`, json('PATCH', { cacheSeconds }, test.cookie))
  expect(await read(Key, change(90))).toMatchObject({ cacheSeconds: 90 })
  expect(await read(Key, change(0))).toMatchObject({ cacheSeconds: null })
  expect(await read(Key, change(null))).toMatchObject({ cacheSeconds: null })
  const error = 'cacheSeconds must be a whole number from 0 to 86400'
  for (const bad of [86_401, -1, 1.5, '60']) expect(await (await change(bad)).json()).toEqual({ error })
})

test('GET /api/ai/health: 200 with error rate and latency of each model that was called', async () => {
  await using test = await cached()
  expect(await (await test.backend.request('/api/ai/health')).json()).not.toHaveProperty('models')
  for (let call = 0; call < 3; call++) await test.say()
  test.provider.answerWith({ fault: { status: 500 } })
  await test.say()
  const health = await (await test.backend.request('/api/ai/health')).json()
  expect(health).toMatchObject({
    windowMinutes: 15,
    models: [
      {
        ...{ provider: 'openrouter', model: 'openai/gpt-4o-mini', state: 'ready', calls: 4, errorRate: 0.25 },
        latencyMs: { p50: expect.any(Number), p95: expect.any(Number) },
      },
    ],
  })
  await test.say()
  await test.say()
  expect(await (await test.web.request('/api/ai/health')).json()).toMatchObject({ models: [{ state: 'resting' }] })
})
