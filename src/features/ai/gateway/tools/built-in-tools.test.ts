import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../../tests/harness/requests.ts'
import { startVendor, VENDOR_KEY } from '../../../../../tests/harness/vendors/vendor.ts'
import { createHttpProvider } from '../../../../adapters/models/http-provider.ts'
import { createKey } from '../../../accounts/keys/keys.ts'
import type { CreateKeyRequest } from '../../../accounts/keys/schemas.ts'
import { usageLogs } from '../../usage/tables.ts'
import { sizeOfTools, toToolBound } from './built-in-tools.ts'

const HI = [{ role: 'user', content: 'What is new?' }]
const SEARCH = { type: 'web_search_20250305', name: 'web_search' }
/** Tokens of the vendor: 1000 in and 500 out. */
const CALLS = {
  messages: {
    id: 'anthropic',
    path: '/v1/messages',
    body: { model: 'claude-sonnet-4-5', max_tokens: 100, messages: HI, tools: [{ ...SEARCH, max_uses: 3 }] },
    tokensMicroUsd: 1000 * 3 + 500 * 15,
  },
  responses: {
    id: 'openai',
    path: '/v1/responses',
    body: { model: 'gpt-5-mini', input: HI, store: false, max_tool_calls: 3, tools: [{ type: 'web_search' }] },
    tokensMicroUsd: 1000 * 0.25 + 500 * 2,
  },
}
const DIALECTS = ['messages', 'responses'] as const

async function searching(dialect: (typeof DIALECTS)[number], limits: Partial<CreateKeyRequest> = {}) {
  const { id, path, body } = CALLS[dialect]
  const vendor = await startVendor({ models: [body.model], dialects: [dialect] })
  const options = { id, baseUrl: vendor.baseUrl, apiKey: VENDOR_KEY, timeoutMs: 60_000, dialects: [dialect] }
  const { platform, clock, backend, signIn } = testPlatform({ providers: [createHttpProvider(options, { fetch })] })
  const { user } = await signIn('ada@example.com', 'network')
  const { key } = await createKey({ db: platform.db, clock }, user.id, { name: 'laptop', ...limits })
  return {
    vendor,
    ask: (change: object = {}) => backend.request(path, json('POST', { ...body, ...change }, bearer(key))),
    async costs() {
      await platform.usage.settle()
      return platform.db
        .select()
        .from(usageLogs)
        .all()
        .map(({ costMicroUsd }) => costMicroUsd)
    },
    [Symbol.asyncDispose]: () => vendor[Symbol.asyncDispose](),
  }
}

test.each(DIALECTS)('%s: 200 with web searches of the vendor at $0.01 each, whole and streamed', async (dialect) => {
  await using test = await searching(dialect)
  const { tokensMicroUsd } = CALLS[dialect]
  test.vendor.answerWith({ searches: 2 })
  for (const stream of [false, true]) await (await test.ask({ stream })).text()
  test.vendor.answerWith({})
  await (await test.ask()).text()
  expect(test.vendor.refused).toEqual([])
  expect(await test.costs()).toEqual([tokensMicroUsd + 20_000, tokensMicroUsd + 20_000, tokensMicroUsd])
})

test.each(DIALECTS)('%s: a budget is never exceeded by 100 concurrent calls with searches near it', async (dialect) => {
  await using test = await searching(dialect, { monthlyBudgetUsd: 0.5 })
  test.vendor.answerWith({ searches: 3 })
  const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await test.ask()).status))
  const spent = (await test.costs()).reduce((sum, cost) => sum + cost, 0)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(spent).toBeGreaterThan(100_000)
  expect(spent).toBeLessThanOrEqual(500_000)
})

test.each(DIALECTS)('%s: 200 with a limit of searches when the budget is nearly used up', async (dialect) => {
  await using test = await searching(dialect, { monthlyBudgetUsd: 1 })
  const unlimited = dialect === 'messages' ? { tools: [SEARCH] } : { max_tool_calls: undefined }
  expect((await test.ask(unlimited)).status).toBe(200)
  expect(test.vendor.calls[0]?.body).toMatchObject(
    dialect === 'messages' ? { tools: [{ ...SEARCH, max_uses: 5 }] } : { max_tool_calls: 5 },
  )
  await using rich = await searching(dialect)
  await rich.ask(unlimited)
  expect(JSON.stringify(rich.vendor.calls[0]?.body)).not.toMatch(/max_uses|max_tool_calls/)
})

test.each([
  ['messages', { type: 'code_execution_20250825', name: 'code_execution' }],
  ['responses', { type: 'code_interpreter', container: { type: 'auto' } }],
] as const)('%s: 403 TOOL_UNPRICED when a tool has no reported cost and the key a budget', async (dialect, tool) => {
  await using limited = await searching(dialect, { monthlyBudgetUsd: 1 })
  const response = await limited.ask({ tools: [tool] })
  expect([response.status, JSON.stringify(await response.json())]).toEqual([
    403,
    expect.stringContaining('TOOL_UNPRICED'),
  ])
  expect([limited.vendor.calls, await limited.costs()]).toEqual([[], []])
  await using free = await searching(dialect)
  expect((await free.ask({ tools: [tool] })).status).toBe(200)
})

test('sizeOfTools returns limits, added tools and the search of Chat Completions', () => {
  const added = { type: 'additional_tools', tools: [{ type: 'web_search' }, { type: 'shell' }] }
  const uses = { webSearches: 5, fileSearches: 0 }
  expect(sizeOfTools('responses', { input: [added] })).toEqual({ uses, isBounded: false, unpriced: ['shell'] })
  const local = { type: 'shell', environment: { type: 'local' } }
  expect(sizeOfTools('responses', { tools: [local] })).toMatchObject({ isBounded: true, unpriced: [] })
  expect(sizeOfTools('responses', { tools: [{ type: 'file_search' }], max_tool_calls: 2 })).toMatchObject({
    uses: { webSearches: 0, fileSearches: 2 },
    isBounded: true,
  })
  expect(sizeOfTools('chat', { web_search_options: {} })).toMatchObject({ uses: { webSearches: 1 }, isBounded: true })
  const both = { tools: [{ ...SEARCH, max_uses: 2 }, SEARCH] }
  const size = sizeOfTools('messages', both)
  expect(size).toMatchObject({ uses: { webSearches: 7 }, isBounded: false })
  expect(toToolBound('messages', both, size)).toEqual({
    tools: [
      { ...SEARCH, max_uses: 2 },
      { ...SEARCH, max_uses: 5 },
    ],
  })
})
