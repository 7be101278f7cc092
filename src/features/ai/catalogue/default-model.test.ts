import { expect, test } from 'bun:test'
import { aiPlatform, echoProvider } from '../../../../tests/harness/ai-platform.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { ModelList } from '../gateway/schemas.ts'

const OPENAI = '/v1/chat/completions'
const HI = [{ role: 'user', content: 'Hi' }]

/** Providers with the given ids at one double, in this order, with the offline model last. */
async function providersOf(...ids: string[]) {
  const double = await startProvider()
  const open = (id: string) =>
    createHttpProvider({ id, baseUrl: double.baseUrl, apiKey: 'k', timeoutMs: 60_000 }, { fetch })
  return { double, providers: [...ids.map(open), echoProvider()] }
}

test.each([
  [['openrouter'], 'anthropic/claude-opus-4.6'],
  [['anthropic'], 'anthropic/claude-opus-4.6'],
  [['openai'], 'openai/gpt-4o'],
  [['gemini', 'ollama'], 'google/gemini-2.0-flash-001'],
  [['ollama'], 'ollama/llama3.2'],
  [[], 'local/echo'],
] as const)('GET /api/models: on network with the providers %j, 200 with the default %s', async (ids, expected) => {
  const { double, providers } = await providersOf(...ids)
  if (ids.some((id) => id === 'ollama')) double.offer(['nomic-embed-text', 'llama3.2'])
  await using test = await aiPlatform({ providers })
  if (ids.some((id) => id === 'ollama') || ids.length === 0)
    await test.platform.catalogue.refresh(new AbortController().signal)
  const { cookie } = await test.signIn('ada@example.com', 'network')
  const { defaultModel } = await read(ModelList, test.web.request('/api/models', { headers: cookie }))
  expect(defaultModel).toBe(expected)
  await double.stop()
})

test('POST /v1/chat/completions: 200 from the plan’s premium model without model, also for an agent of its vendor', async () => {
  const { double, providers } = await providersOf('openrouter', 'anthropic')
  await using test = await aiPlatform({ providers })
  const { agentToken, key } = await test.join('network', 'ada@example.com', 'anthropic')
  for (const token of [agentToken, key]) {
    const response = await test.ask(OPENAI, { messages: HI }, bearer(token))
    expect(response.headers.get('x-model')).toBe('anthropic/claude-opus-4.6')
  }
  await double.stop()
})

test('POST /api/agents/provision: 201 with the model of the owner’s key when only that provider is configured', async () => {
  const vendor = await startProvider()
  await using test = await aiPlatform({
    providers: [echoProvider()],
    openProvider: (id, apiKey) =>
      createHttpProvider({ id, baseUrl: vendor.baseUrl, apiKey, timeoutMs: 60_000 }, { fetch }),
  })
  await test.platform.catalogue.refresh(new AbortController().signal)
  const { cookie } = await test.signIn('ada@example.com', 'network')
  const headers = { ...cookie }
  const defaultOf = async () => (await read(ModelList, test.web.request('/api/models', { headers }))).defaultModel
  expect(await defaultOf()).toBe('local/echo')
  const enable = { action: 'enable-byok', provider: 'openai', apiKey: 'sk-own-0123456789' }
  expect((await test.web.request('/api/billing', json('POST', enable, headers))).status).toBe(200)
  expect(await defaultOf()).toBe('openai/gpt-4o')
  const made = await test.web.request(
    '/api/agents/provision',
    json('POST', { name: 'Ada' }, { ...headers, prefer: 'respond-async' }),
  )
  expect(await made.json()).toMatchObject({ agent: { model: 'openai/gpt-4o' } })
  await vendor.stop()
})
