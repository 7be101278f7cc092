import { expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { CreatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { signUp } from '../../harness/client.ts'
import { bearer, json, read } from '../../harness/requests.ts'
import { startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { startVendor, VENDOR_KEY } from '../../harness/vendors/vendor.ts'

/** Configures OpenAI and Anthropic, each with a model that the built-in table does not contain. */
async function openVendors() {
  const anthropic = await startVendor({ models: ['claude-opus-4-8', 'claude-opus-99'] })
  const openai = await startVendor({ models: ['gpt-5.5', 'gpt-5.5-2026-04-23', 'gpt-99'] })
  const server = await startServer({
    ANTHROPIC_API_KEY: VENDOR_KEY,
    ANTHROPIC_BASE_URL: anthropic.baseUrl,
    OPENAI_API_KEY: VENDOR_KEY,
    OPENAI_BASE_URL: openai.baseUrl,
  })
  const { key } = await read(CreatedKey, (await signUp(server.urls.web)).post('/api/keys', { name: 'tools' }))
  const { backend } = server.urls
  const knows = async (id: string) =>
    (await fetch(`${backend}/v1/models/${id}`, { headers: bearer(key) })).status === 200
  await until('the models of both vendors', async () => (await knows('claude-opus-99')) && (await knows('gpt-99')))
  return {
    anthropic,
    openai,
    claude: new Anthropic({ baseURL: backend, apiKey: key, maxRetries: 0 }),
    gpt: new OpenAI({ baseURL: `${backend}/v1`, apiKey: key, maxRetries: 0 }),
    post: (path: string, body: unknown) => fetch(`${backend}${path}`, json('POST', body, bearer(key))),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await anthropic[Symbol.asyncDispose]()
      await openai[Symbol.asyncDispose]()
    },
  }
}

const HI = [{ role: 'user' as const, content: 'Hi' }]

test('POST /v1/messages: 200 with Anthropic’s name of the model for any name of the caller', async () => {
  await using test = await openVendors()
  for (const model of ['claude-opus-4-8', 'anthropic/claude-opus-4.8', 'claude-opus-99']) {
    const { data, response } = await test.claude.messages.create({ model, max_tokens: 10, messages: HI }).withResponse()
    expect(data.content).toMatchObject([{ text: 'Hello.' }])
    expect(response.headers.get('x-stead-model')).toMatch(/^anthropic\/claude-/)
    expect(response.headers.get('x-provider')).toBe('anthropic')
  }
  expect(test.anthropic.refused).toEqual([])
  const served = test.anthropic.calls.map(({ dialect, body }) => [dialect, body.model])
  expect(served).toEqual([
    ['messages', 'claude-opus-4-8'],
    ['messages', 'claude-opus-4-8'],
    ['messages', 'claude-opus-99'],
  ])
}, 300_000)

test('POST /v1/responses: 200 with OpenAI’s name of the model, including versions', async () => {
  await using test = await openVendors()
  for (const model of ['gpt-5.5', 'openai/gpt-5.5', 'gpt-5.5-2026-04-23', 'gpt-99'])
    expect((await test.gpt.responses.create({ model, input: 'Hi' })).output_text).toBe('Hello.')
  expect(test.openai.refused).toEqual([])
  const served = test.openai.calls.map(({ dialect, body }) => [dialect, body.model])
  expect(served).toEqual(['gpt-5.5', 'gpt-5.5', 'gpt-5.5-2026-04-23', 'gpt-99'].map((model) => ['responses', model]))
}, 300_000)

test('POST /v1/messages: 200 for the Anthropic client from a model of OpenAI, and for the openai client from one of Anthropic', async () => {
  await using test = await openVendors()
  const message = await test.claude.messages.stream({ model: 'gpt-5.5', max_tokens: 10, messages: HI }).finalMessage()
  expect(message.content).toMatchObject([{ type: 'text', text: 'Hello.' }])
  const response = await test.gpt.responses.stream({ model: 'claude-opus-4-8', input: 'Hi' }).finalResponse()
  expect(response.output_text).toBe('Hello.')
  expect([...test.openai.refused, ...test.anthropic.refused]).toEqual([])
  expect([...test.openai.calls, ...test.anthropic.calls].map(({ dialect }) => dialect)).toEqual(['chat', 'chat'])
}, 300_000)

test('POST /v1/responses: 200 from Anthropic without built-in tools, which x-stead-dropped names', async () => {
  await using test = await openVendors()
  const tools = [{ type: 'web_search' }, { type: 'namespace', name: 'agents', description: 'Agents', tools: [] }]
  const body = { model: 'claude-opus-4-8', input: 'Hi', tools, stream: true }
  const dropped = await test.post('/v1/responses', body)
  expect([dropped.status, dropped.headers.get('x-stead-dropped')]).toEqual([200, 'web_search, namespace'])
  await dropped.text()
  const kept = await test.post('/v1/responses', { ...body, model: 'gpt-5.5' })
  expect([kept.status, kept.headers.get('x-stead-dropped')]).toEqual([200, null])
  await kept.text()
  expect(test.openai.calls[0]?.body.tools).toEqual(tools)
}, 300_000)

test('POST /v1/messages: 200 from a fallback, which is not sent to the vendor', async () => {
  await using test = await openVendors()
  test.anthropic.answerWith({ fault: { status: 529 } })
  const response = await test.post('/v1/messages', {
    model: 'claude-opus-4-8',
    max_tokens: 10,
    messages: HI,
    fallbacks: ['gpt-5.5'],
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('x-stead-model')).toBe('openai/gpt-5.5')
  expect(response.headers.get('x-attempts')).toBe('2')
  expect(await response.json()).toMatchObject({ type: 'message', content: [{ text: 'Hello.' }] })
  expect([...test.openai.refused, ...test.anthropic.refused]).toEqual([])
}, 300_000)
