import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../../tests/harness/requests.ts'
import { startVendor, VENDOR_KEY, type VendorOptions } from '../../../../../tests/harness/vendors/vendor.ts'
import { createHttpProvider } from '../../../../adapters/models/http-provider.ts'
import { Guardrails } from '../../../accounts/guardrails/schemas.ts'
import { createKey } from '../../../accounts/keys/keys.ts'
import { usageLogs } from '../../usage/tables.ts'

const CLAUDE = 'claude-sonnet-4-5'
const GPT = 'gpt-4o-mini'
const HI = [{ role: 'user', content: 'Hi' }]
const DENY = Guardrails.parse({ deny: ['secret'], redact: ['email'] })

/** The vendor `id`, which speaks `dialects` and counts tokens unless `countStatus` says otherwise. */
async function countingPlatform(id: string, { dialects = [], countStatus }: Omit<VendorOptions, 'models'>) {
  const models = [CLAUDE, GPT]
  const vendor = await startVendor({ models, dialects, ...(countStatus !== undefined && { countStatus }) })
  const options = { id, baseUrl: vendor.baseUrl, apiKey: VENDOR_KEY, timeoutMs: 60_000, dialects }
  const test = testPlatform({ providers: [createHttpProvider(options, { fetch })] })
  const { user } = await test.signIn('ada@example.com', 'network')
  const { db } = test.platform
  const { key } = await createKey({ db, clock: test.clock }, user.id, { name: 'laptop', guardrails: DENY })
  return {
    vendor,
    async count(path: string, body: object, headers: Record<string, string> = {}) {
      const response = await test.backend.request(path, json('POST', body, { ...bearer(key), ...headers }))
      return { status: response.status, body: Object(await response.json()) }
    },
    recordedUsage: async () => {
      await test.platform.usage.settle()
      return db.select().from(usageLogs).all()
    },
    [Symbol.asyncDispose]: () => vendor[Symbol.asyncDispose](),
  }
}

const ROUTES = [
  { id: 'anthropic', dialect: 'messages', path: '/v1/messages/count_tokens', body: { model: CLAUDE, messages: HI } },
  { id: 'openai', dialect: 'responses', path: '/v1/responses/input_tokens', body: { model: GPT, input: HI } },
] as const

test.each(ROUTES)('POST $path: 200 with the provider’s count, and nothing is recorded', async (route) => {
  await using test = await countingPlatform(route.id, { dialects: [route.dialect] })
  const beta = { 'anthropic-beta': 'token-counting-2024-11-01' }
  const { status, body } = await test.count(route.path, { ...route.body, fallbacks: [route.body.model] }, beta)
  const [counted] = test.vendor.counts
  const { model, ...rest } = Object(counted?.body)
  expect([status, model]).toEqual([200, route.body.model])
  expect(body.input_tokens).toBe(JSON.stringify([null, rest.messages ?? rest.input, null]).length)
  expect(counted?.path).toBe(route.path)
  if (route.dialect === 'messages') expect(counted?.headers['anthropic-beta']).toBe(beta['anthropic-beta'])
  expect([test.vendor.refused, await test.recordedUsage()]).toEqual([[], []])
})

test.each(ROUTES)(
  'POST $path: 200 with a local count when the provider cannot count',
  async (route) => {
    const counts: number[] = []
    for (const options of [
      { dialects: ['chat'] as const },
      { dialects: [route.dialect], countStatus: 404 },
      { dialects: [route.dialect], countStatus: 429 },
      { dialects: [route.dialect], countStatus: 503 },
    ]) {
      await using test = await countingPlatform(route.id, options)
      const { status, body } = await test.count(route.path, route.body)
      expect(status).toBe(200)
      counts.push(body.input_tokens)
    }
    const [first = 0] = counts
    expect(first).toBeGreaterThan(0)
    expect(counts).toEqual([first, first, first, first])
  },
  300_000,
)

test.each(ROUTES)(
  'POST $path: 400 when the provider refuses the request, 404 when the model is unknown',
  async (route) => {
    await using test = await countingPlatform(route.id, { dialects: [route.dialect] })
    const { messages, input, ...rest } = { messages: null, input: null, ...route.body }
    const wrong = {
      ...rest,
      ...(messages ? { messages: [{ role: 'tea', content: 'Hi' }] } : { input: [{ type: 'tea' }] }),
    }
    expect((await test.count(route.path, wrong)).status).toBe(400)
    expect((await test.count(route.path, { ...route.body, model: 'model-of-nobody' })).status).toBe(404)
  },
)

test.each(ROUTES)('POST $path: 400 when guardrails deny a text, before the provider gets it', async (route) => {
  await using test = await countingPlatform(route.id, { dialects: [route.dialect] })
  const ask = (content: string) => {
    const said = [{ role: 'user', content }]
    return test.count(route.path, {
      ...route.body,
      ...('messages' in route.body ? { messages: said } : { input: said }),
    })
  }
  expect((await ask('My secret')).status).toBe(400)
  expect((await ask('Write to ada@example.com')).status).toBe(200)
  expect(test.vendor.counts).toHaveLength(1)
  expect(JSON.stringify(test.vendor.counts)).not.toContain('ada@example.com')
})
