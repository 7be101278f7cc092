import { expect, test } from 'bun:test'
import { z } from 'zod'
import { INTERNAL_KEY, type TestOptions, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { newId } from '../../../core/ids.ts'
import { write } from '../../../db/write.ts'
import { insertAgent, openTokens } from '../../agents/registry/agents.ts'
import { UNCACHED, type UsageEvent } from './rows/event.ts'

const DAY_MS = 86_400_000
const MINI = 'openai/gpt-4o-mini'
const OPERATOR = bearer(INTERNAL_KEY)
const Rows = z.array(z.record(z.string(), z.unknown()))

/** Ada and Eve, each with an agent, on a day in the middle of a year. */
async function installation(options: TestOptions = {}) {
  const test = testPlatform(options)
  const { platform, clock, backend, web, signIn } = test
  clock.set(new Date('2100-06-15T12:00:00Z'))
  const join = async (email: string) => {
    const { user, cookie } = await signIn(email, 'network')
    const agent = await write(platform.db, (tx) =>
      insertAgent({ clock, sealer: platform.sealer }, tx, {
        ownerId: user.id,
        name: email,
        model: MINI,
        plan: 'solo',
        aiProvider: 'openrouter',
        status: 'running',
      }),
    )
    return { user, cookie, agentId: agent.id, agentToken: openTokens(platform.sealer, agent).accessToken }
  }
  const [ada, eve] = [await join('ada@example.com'), await join('eve@example.com')]
  return {
    ...test,
    ada,
    eve,
    use: async (event: Partial<UsageEvent> & { daysAgo?: number }) => {
      const { daysAgo = 0, ...rest } = event
      const now = clock.now()
      clock.set(new Date(now.getTime() - daysAgo * DAY_MS))
      platform.usage.record({
        ...UNCACHED,
        generationId: newId('gen'),
        userId: ada.user.id,
        agentId: ada.agentId,
        keyId: null,
        model: MINI,
        provider: 'openrouter',
        attempts: 1,
        isOwnKey: false,
        isEstimated: false,
        inputTokens: 1000,
        outputTokens: 500,
        costMicroUsd: 450,
        endpoint: '/v1/chat/completions',
        latencyMs: 7,
        errorMessage: null,
        ...rest,
      })
      clock.set(now)
    },
    query: (path: string, headers: Record<string, string> = OPERATOR) =>
      read(Rows, backend.request(`/api/usage/${path}`, { headers })),
    ask: (path: string, headers: Record<string, string>) => backend.request(`/api/usage/${path}`, { headers }),
    export: (query = '', cookie = ada.cookie) => web.request(`/api/usage/export${query}`, { headers: cookie }),
  }
}

const asUser = (id: string) => ({ ...OPERATOR, 'x-user-id': id })
/** Usage without estimates. */
const REPORTED = { estimated_tokens: 0, estimated_cost_usd: 0 }
const SUMS = { input_tokens: 1000, output_tokens: 500, total_tokens: 1500, cost_usd: 0.00045, ...REPORTED }

test('GET /api/usage/summary: 200 with a line for each day, agent, model and provider', async () => {
  const { use, query, ada } = await installation()
  await use({})
  await use({})
  await use({ provider: 'openai' })
  await use({ agentId: 'direct', daysAgo: 29 })
  await use({ daysAgo: 30 })
  const line = { date: '2100-06-15', agent_id: ada.agentId, model: MINI, provider: 'openrouter' }
  expect(await query('summary')).toEqual([
    {
      ...line,
      input_tokens: 2000,
      output_tokens: 1000,
      total_tokens: 3000,
      cost_usd: 0.0009,
      ...REPORTED,
      turn_count: 2,
    },
    { ...line, provider: 'openai', ...SUMS, turn_count: 1 },
    { ...line, date: '2100-05-17', agent_id: null, ...SUMS, turn_count: 1 },
  ])
  expect(await query('summary?days=31')).toHaveLength(4)
  expect(await query('summary?days=1')).toHaveLength(2)
})

test('GET /api/usage/by-agent/:agentId: 200 with its models, empty for a stranger’s agent and without rows', async () => {
  const { use, query, ada, eve } = await installation()
  await use({})
  await use({ model: 'openai/gpt-4o', costMicroUsd: 900 })
  await use({ agentId: eve.agentId, userId: eve.user.id })
  const lines = [
    { model: 'openai/gpt-4o', provider: 'openrouter', ...SUMS, cost_usd: 0.0009, events: 1 },
    { model: MINI, provider: 'openrouter', ...SUMS, events: 1 },
  ]
  expect(await query(`by-agent/${ada.agentId}`)).toEqual(lines)
  expect(await query(`by-agent/${ada.agentId}`, asUser(ada.user.id))).toEqual(lines)
  expect(await query(`by-agent/${ada.agentId}`, asUser(eve.user.id))).toEqual([])
  await use({ agentId: 'gone', daysAgo: 2 })
  expect(await query('by-agent/gone')).toMatchObject([{ events: 1 }])
  expect(await query('by-agent/never')).toEqual([])
  expect(await query('by-agent/never', asUser(ada.user.id))).toEqual([])
  expect(await query(`by-agent/${ada.agentId}?days=1`)).toHaveLength(2)
})

test('GET /api/usage/by-model and /daily: 200 with sums that add up to the same', async () => {
  const { use, query, ada, eve } = await installation()
  await use({})
  await use({ daysAgo: 3 })
  await use({ model: 'openai/gpt-4o', costMicroUsd: 1_000_000 })
  await use({ userId: eve.user.id, agentId: eve.agentId })
  expect(await query('by-model')).toEqual([
    { model: 'openai/gpt-4o', provider: 'openrouter', ...SUMS, cost_usd: 1, turns: 1 },
    {
      model: MINI,
      provider: 'openrouter',
      input_tokens: 3000,
      output_tokens: 1500,
      total_tokens: 4500,
      cost_usd: 0.00135,
      ...REPORTED,
      turns: 3,
    },
  ])
  expect(await query('daily')).toEqual([
    { date: '2100-06-12', total_tokens: 1500, cost_usd: 0.00045, ...REPORTED, turns: 1 },
    { date: '2100-06-15', total_tokens: 4500, cost_usd: 1.0009, ...REPORTED, turns: 3 },
  ])
  expect(await query('daily?days=1', asUser(ada.user.id))).toEqual([
    { date: '2100-06-15', total_tokens: 3000, cost_usd: 1.00045, ...REPORTED, turns: 2 },
  ])
})

test('GET /api/usage/*: 200 with the estimated part of each sum', async () => {
  const { use, query, ada } = await installation()
  await use({})
  await use({ isEstimated: true, inputTokens: 10, outputTokens: 20, costMicroUsd: 1_000_000 })
  const estimated = { estimated_tokens: 30, estimated_cost_usd: 1 }
  for (const path of ['summary', `by-agent/${ada.agentId}`, 'by-model', 'daily']) {
    expect(await query(path)).toMatchObject([{ total_tokens: 1530, ...estimated }])
  }
})

test('GET /api/usage/tools: 200 with the tool calls that agents reported', async () => {
  const { backend, query, ada, eve, clock } = await installation()
  const reportEvents = (token: string, events: unknown) =>
    backend.request('/v1/tool-events', json('POST', { events }, bearer(token)))
  const event = { tool_name: 'read_file', success: true, duration_ms: 10 }
  const reported = await reportEvents(ada.agentToken, [event, { ...event, duration_ms: 21, success: false }])
  expect(reported.status).toBe(204)
  await reportEvents(eve.agentToken, [{ tool_name: 'remember', success: true }])
  expect(await query('tools')).toEqual([
    { tool_name: 'read_file', calls: 2, successes: 1, avg_ms: 16 },
    { tool_name: 'remember', calls: 1, successes: 1, avg_ms: null },
  ])
  expect(await query(`tools?agentId=${eve.agentId}`)).toHaveLength(1)
  expect(await query('tools', asUser(eve.user.id))).toHaveLength(1)
  expect(await query(`tools?agentId=${eve.agentId}`, asUser(ada.user.id))).toEqual([])
  clock.advance(7 * DAY_MS)
  expect(await query('tools')).toEqual([])
  expect(await query('tools?days=8')).toHaveLength(2)
})

test.each([
  [{}, 'events must be a list of 1 to 100 tool events'],
  [{ events: [] }, 'events must be a list of 1 to 100 tool events'],
  [{ events: [{ tool_name: '', success: true }] }, 'tool_name is required'],
  [{ events: [{ tool_name: 'x', success: 'yes' }] }, 'success must be true or false'],
])('POST /v1/tool-events: 400 when the body is %j', async (body, message) => {
  const { backend, ada } = await installation()
  const response = await backend.request('/v1/tool-events', json('POST', body, bearer(ada.agentToken)))
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { message } })
})

const PATHS = ['summary', 'by-agent/a', 'by-model', 'daily', 'tools']
test.each(PATHS)(
  'GET /api/usage/%s: 401 without a token, 403 with a wrong one, 400 when days are invalid, 500 with an error body',
  async (path) => {
    const { ask, platform } = await installation()
    expect((await ask(path, {})).status).toBe(401)
    expect((await ask(path, bearer('wrong'))).status).toBe(403)
    expect((await ask(`${path}?days=0`, OPERATOR)).status).toBe(400)
    expect((await ask(`${path}?days=many`, OPERATOR)).status).toBe(400)
    await write(platform.db, (tx) => {
      tx.run('DROP TABLE usage_days')
      tx.run('DROP TABLE tool_days')
    })
    const failed = await ask(path, OPERATOR)
    expect(failed.status).toBe(500)
    expect(await failed.json()).toEqual({ error: 'Database query failed' })
  },
)

test.each(PATHS)('GET /api/usage/%s: 404 when planned endpoints are off', async (path) => {
  const { ask } = await installation({ environment: { PLANNED_ENDPOINTS: 'false' } })
  expect((await ask(path, OPERATOR)).status).toBe(404)
})

test('GET /api/usage/export: 200 with own calls as CSV without formulas for spreadsheets', async () => {
  const { use, export: download, ada, eve } = await installation()
  await use({ agentId: '=HYPERLINK("http://evil")', errorMessage: 'a "quoted", broken\nline' })
  await use({ daysAgo: 40 })
  await use({ userId: eve.user.id })
  const response = await download()
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
  expect(response.headers.get('content-disposition')).toBe('attachment; filename="usage-2100-06-15.csv"')
  const [head, line, ...rest] = (await response.text()).split('\r\n')
  expect(head).toStartWith('created_at,agent_id,model,provider,')
  expect(line).toStartWith(
    `2100-06-15T12:00:00.000Z,"'=HYPERLINK(""http://evil"")",${MINI},openrouter,1000,500,0.000450,`,
  )
  expect(line).toContain('"a ""quoted"", broken\nline"')
  expect(rest).toEqual([''])
  expect((await (await download('?days=60')).text()).split('\r\n')).toHaveLength(4)
  expect((await (await download('', eve.cookie)).text()).split('\r\n')).toHaveLength(3)
  expect(ada.user.id).not.toBe(eve.user.id)
})

test('GET /api/usage/export: 401 without a session', async () => {
  const { web } = testPlatform()
  expect((await web.request('/api/usage/export')).status).toBe(401)
})
