import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import parsePrometheus from 'parse-prometheus-text-format'
import { z } from 'zod'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { addedDaySums, usageDays } from '../../ai/usage/tables.ts'

const METRICS_TOKEN = 'the token of whoever watches'
const Families = z.array(
  z.object({
    name: z.string(),
    help: z.string(),
    type: z.enum(['COUNTER', 'GAUGE', 'HISTOGRAM']),
    metrics: z.array(
      z.looseObject({ value: z.string().optional(), labels: z.record(z.string(), z.string()).optional() }),
    ),
  }),
)

type Platform = ReturnType<typeof testPlatform>

async function scrape({ backend }: Platform) {
  const response = await backend.request('/metrics', { headers: bearer(METRICS_TOKEN) })
  expect(response.status).toBe(200)
  const text = await response.text()
  const families = Families.parse(parsePrometheus(text))
  /** Returns the value of the line with exactly these labels. */
  const value = (name: string, labels: Record<string, string> = {}) => {
    const line = families
      .find((family) => family.name === name)
      ?.metrics.find((metric) => Bun.deepEquals(metric.labels ?? {}, labels))
    return line?.value === undefined ? undefined : Number(line.value)
  }
  return { text, families, value, contentType: response.headers.get('content-type') }
}

const openPlatform = () => testPlatform({ environment: { METRICS_TOKEN } })

test('GET /metrics: 200 in the text format of Prometheus, which its parser accepts', async () => {
  const { families, value, contentType } = await scrape(openPlatform())
  expect(contentType).toStartWith('text/plain; version=0.0.4')
  expect(families.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'process_resident_memory_bytes',
      'stead_agents',
      'stead_build_info',
      'stead_database_log_bytes',
      'stead_disk_free_bytes',
      'stead_event_loop_lag_seconds',
      'stead_http_request_duration_seconds',
      'stead_http_requests_total',
      'stead_jobs',
      'stead_ledger_balance',
      'stead_model_cost_usd_total',
      'stead_model_tokens_total',
      'stead_requests_under_way',
      'stead_turns_under_way',
      'stead_websockets_open',
    ]),
  )
  expect(value('stead_disk_free_bytes')).toBeGreaterThan(0)
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6)
  expect(value('stead_turns_under_way')).toBe(0)
})

test('GET /metrics: 200 with requests by route pattern, and one line for all requests without a route', async () => {
  const platform = openPlatform()
  const { cookie } = await platform.signIn()
  for (const id of ['agent_1', 'agent_2', 'agent_3'])
    await platform.web.request(`/api/agents/${id}`, { headers: cookie })
  await platform.web.request('/api/agents/agent_1')
  for (const path of ['/api/no-such-thing', '/api/nor-this']) await platform.web.request(path)
  await platform.backend.request('/nowhere', { method: 'BREW' })

  const { text, value } = await scrape(platform)
  const name = 'stead_http_requests_total'
  const route = { port: 'web', method: 'GET', route: '/api/agents/:id' }
  expect(value(name, { ...route, status: '404' })).toBe(3)
  expect(value(name, { ...route, status: '401' })).toBe(1)
  expect(value(name, { port: 'backend', method: 'none', route: 'none', status: '404' })).toBe(1)
  expect(text).not.toMatch(/agent_1|no-such-thing|nor-this|BREW/)
  const labels = 'port="web",method="GET",route="/api/agents/:id"'
  expect(text).toContain(`stead_http_request_duration_seconds_count{${labels}} 4\n`)
})

test('GET /metrics: 200 with agents and jobs by state after every change, each row once', async () => {
  const platform = openPlatform()
  const { db, clock, sealer, enqueue } = platform.platform.accounts
  const { user } = await platform.signIn()
  const states = async () => {
    const { value } = await scrape(platform)
    return ['running', 'down', 'error', 'sleeping'].map((state) => value('stead_agents', { state }) ?? 0)
  }
  await write(db, (tx) => {
    for (const status of ['running', 'running', 'error'] as const) {
      const kind = { name: 'Ada', model: 'auto', plan: 'label', aiProvider: 'openrouter', status } as const
      insertAgent({ clock, sealer }, tx, { ...kind, ownerId: user.id })
    }
    enqueue(tx, 'test.kind', {})
  })
  expect(await states()).toEqual([2, 0, 1, 0])
  expect((await scrape(platform)).value('stead_jobs', { state: 'queued' })).toBe(1)
  await write(db, (tx) => tx.update(agents).set({ downAt: clock.now() }).where(sql`status = 'running'`).run())
  expect(await states()).toEqual([0, 2, 1, 0])
  await write(db, (tx) => tx.update(agents).set({ status: 'sleeping', downAt: null }).run())
  expect(await states()).toEqual([0, 0, 0, 3])
  await write(db, (tx) => tx.delete(agents).run())
  await write(db, (tx) => tx.run(sql`update jobs set status = 'done'`))
  expect(await states()).toEqual([0, 0, 0, 0])
  expect((await scrape(platform)).value('stead_jobs', { state: 'queued' })).toBe(0)
})

test('GET /metrics: 200 with tokens and cost equal to the recorded usage', async () => {
  const platform = openPlatform()
  const { db } = platform.platform.accounts
  const day = { userId: 'user_1', agentId: 'agent_1', model: 'm', provider: 'openai', day: '2026-01-01' }
  const book = (over: Partial<typeof day>) =>
    write(db, (tx) =>
      tx
        .insert(usageDays)
        .values({ ...day, ...over, inputTokens: 3, outputTokens: 5, costMicroUsd: 7, calls: 1 })
        .onConflictDoUpdate({
          target: [usageDays.userId, usageDays.day, usageDays.agentId, usageDays.model, usageDays.provider],
          set: addedDaySums,
        })
        .run(),
    )
  await book({})
  await book({})
  await book({ userId: 'user_2' })
  await book({ provider: 'groq' })
  const { value } = await scrape(platform)
  expect(value('stead_model_calls_total', { provider: 'openai' })).toBe(3)
  expect(value('stead_model_tokens_total', { provider: 'openai', direction: 'input' })).toBe(9)
  expect(value('stead_model_tokens_total', { provider: 'openai', direction: 'output' })).toBe(15)
  expect(value('stead_model_cost_usd_total', { provider: 'openai' })).toBe(0.000021)
  expect(value('stead_model_cost_usd_total', { provider: 'groq' })).toBe(0.000007)
})

test.each([
  [{}, 401],
  [bearer('another token than this'), 403],
  [bearer(`${METRICS_TOKEN}0`), 403],
] as const)(
  'GET /metrics: when METRICS_TOKEN is set and the headers are %j, %i, also on this machine',
  async (headers, status) => {
    const platform = openPlatform()
    for (const address of ['127.0.0.1', '203.0.113.7']) {
      const response = await platform.api('backend', { address }).request('/metrics', { headers })
      expect(response.status).toBe(status)
      expect(await response.text()).not.toContain('stead_')
    }
  },
)

test.each([
  ['127.0.0.1', {}, 200],
  ['::1', {}, 200],
  ['::ffff:127.0.0.1', {}, 200],
  ['203.0.113.7', {}, 403],
  [null, {}, 403],
  ['127.0.0.1', { 'x-forwarded-for': '203.0.113.7' }, 403],
  ['127.0.0.1', { forwarded: 'for=203.0.113.7' }, 403],
  ['127.0.0.1', { via: '1.1 caddy' }, 403],
  ['127.0.0.1', { 'x-forwarded-proto': 'https' }, 403],
  ['127.0.0.1', { 'cf-connecting-ip': '203.0.113.7' }, 403],
  ['127.0.0.1', { 'true-client-ip': '203.0.113.7' }, 403],
  ['127.0.0.1', { 'x-real-ip': '203.0.113.7' }, 403],
  ['127.0.0.1', { 'x-forwarded-host': 'stead.example.com' }, 403],
  ['127.0.0.1', { 'fly-client-ip': '203.0.113.7' }, 403],
  ['127.0.0.1', { 'x-amzn-trace-id': 'Root=1-67891233-abcdef012345678912345678' }, 403],
  ['127.0.0.1', { 'x-azure-clientip': '203.0.113.7' }, 403],
  ['127.0.0.1', { 'x-envoy-external-address': '203.0.113.7' }, 403],
  ['127.0.0.1', { 'tailscale-user-login': 'ada@example.com' }, 403],
] as const)('GET /metrics: without METRICS_TOKEN, from %p with %j, %i', async (address, headers, status) => {
  const response = await testPlatform().api('backend', { address }).request('/metrics', { headers })
  expect(response.status).toBe(status)
})

test('GET /metrics: 403 without METRICS_TOKEN when the host is not a name of this machine', async () => {
  const { app } = testPlatform()
  const ask = async (host: string) =>
    (await app.fetch(new Request(`http://${host}/metrics`), { api: 'backend', address: '127.0.0.1' })).status
  expect(await Promise.all(['stead.example.com', 'metrics.localhost.example', '203.0.113.7'].map(ask))).toEqual([
    403, 403, 403,
  ])
  expect(await Promise.all(['localhost:3001', '127.0.0.1', '[::1]:3001'].map(ask))).toEqual([200, 200, 200])
})
