import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { json } from '../../../../tests/harness/requests.ts'

const ASKED = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }

test('POST /api/ai/chat: 200 with a session on the web API, recorded for the user without an agent', async () => {
  await using test = await aiPlatform()
  const { cookie, user } = await test.join('solo')
  const response = await test.web.request('/api/ai/chat', json('POST', ASKED, cookie))
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ model: ASKED.model, message: { content: 'Hello.' } })
  const generationId = response.headers.get('x-generation-id')
  expect(await test.recordedUsage()).toMatchObject([
    { userId: user.id, agentId: 'direct', keyId: null, generationId, inputTokens: 1000, outputTokens: 500 },
  ])
})

test('POST /api/ai/chat: 200 streams on the web API, with the id of the call in a header', async () => {
  await using test = await aiPlatform()
  const { cookie } = await test.join('solo')
  const response = await test.web.request('/api/ai/chat', json('POST', { ...ASKED, stream: true }, cookie))
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  expect(await response.text()).toContain('Hello.')
  const [call] = await test.recordedUsage()
  expect(call?.generationId).toBe(response.headers.get('x-generation-id') ?? '')
})

test('POST /api/ai/chat: on the web API 401 without a session and for keys, 402 without a plan, 403, 404 and 400 for the model', async () => {
  await using test = await aiPlatform()
  const { cookie, key } = await test.join('solo')
  const poor = await test.join(null, 'eve@example.com')
  const ask = async (body: object, headers: Record<string, string>) =>
    (await test.web.request('/api/ai/chat', json('POST', body, headers))).status
  expect(await ask(ASKED, {})).toBe(401)
  expect(await ask(ASKED, { authorization: `Bearer ${key}` })).toBe(401)
  expect(await ask(ASKED, poor.cookie)).toBe(402)
  expect(await ask({ ...ASKED, model: 'anthropic/claude-opus-4.6' }, cookie)).toBe(403)
  expect(await ask({ ...ASKED, model: 'nobody/nothing' }, cookie)).toBe(404)
  expect(await ask({ ...ASKED, messages: [] }, cookie)).toBe(400)
  expect(test.provider.chats).toHaveLength(0)
})

test('GET /api/ai/models and GET /api/ai/health: 200 on the web API without a session', async () => {
  await using test = await aiPlatform()
  for (const path of ['/api/ai/models', '/api/ai/models/openrouter', '/api/ai/health']) {
    const [onWeb, onBackend] = [await test.web.request(path), await test.backend.request(path)]
    expect([path, onWeb.status, await onWeb.json()]).toEqual([path, 200, await onBackend.json()])
  }
})
