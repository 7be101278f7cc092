import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { count } from 'drizzle-orm'
import { describeRoutes } from '../../../scripts/routes.ts'
import { createHttpProvider } from '../../../src/adapters/models/http-provider.ts'
import { usageLogs } from '../../../src/features/ai/usage/tables.ts'
import type { ApiName } from '../../../src/http/env.ts'
import { createApp } from '../../../src/server/app.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { startVideoDouble } from '../../harness/doubles/video.ts'
import { listCallers } from '../../matrix/callers.ts'
import { type Expectation, ROUTES, toRequest } from '../../matrix/routes.ts'
import { startRuntimeDouble } from '../../matrix/runtime-double.ts'
import { openWorld, type World } from '../../matrix/world.ts'

const NEVER_MS = 600_000
const MODEL = 'openai/gpt-4o-mini'
const QUESTION = { model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }

/** Routes that spend money, with their requests. A new one needs a line here. */
const SPENDING: Readonly<Record<string, readonly unknown[]>> = {
  'POST /api/ai/chat backend': [QUESTION, { ...QUESTION, stream: true }],
  'POST /api/ai/chat web': [QUESTION, { ...QUESTION, stream: true }],
  'POST /v1/chat/completions backend': [QUESTION, { ...QUESTION, stream: true }],
  'POST /v1/embeddings backend': [{ model: MODEL, input: 'Hi' }],
  'POST /api/demo/chat web': [{ message: 'Hi' }],
  'POST /api/generate-video web': [{ type: 'demo', agentName: 'Ada', agentDescription: 'Answers' }],
}

/**
 * Routes that are not configured here. None of them spends the operator's money; a route that does must be configured
 * in this test. Payments by card and wallet are the user's own and recorded in the ledger.
 */
const UNCONFIGURED = [
  'POST /api/admin/backups web',
  'POST /api/admin/mail/test web',
  'POST /api/agents/:id/verify backend',
  'POST /api/agents/:id/verify web',
  'POST /api/agents/clone web',
  'POST /api/payments/storage-upgrade web',
  'POST /api/wallet/fetch web',
  'POST /api/wallet/send web',
  'POST /api/watchdog/test web',
  'POST /api/webhooks/email web',
  'POST /api/webhooks/stripe web',
  'POST /api/webhooks/video web',
  'POST /v1/paid-fetch backend',
  'POST /v1/search backend',
]

/** The caller with every permission behind each guard. */
const CALLERS: Readonly<Record<string, string>> = {
  public: 'owner',
  session: 'owner',
  'signed-in': 'owner',
  admin: 'admin',
  'internal-key': 'internal key for the owner',
  installer: 'internal key',
  bearer: 'owner’s key',
  'any-bearer': 'owner’s key',
  'unplanned-bearer': 'owner’s key',
  'planned-bearer': 'owner’s key',
  'agent-token': 'owner’s agent',
  'metrics-token': 'owner’s key',
  'machine-or-owner': 'owner’s key',
  machine: 'owner’s agent',
}

type Route = { key: string; method: string; path: string; api: ApiName; guard: string }

test(
  'every route that buys from a provider records each order in the same ledger',
  async () => {
    using double = startRuntimeDouble()
    await using provider = await startProvider()
    const film = startVideoDouble()
    await using _film = { [Symbol.asyncDispose]: () => film.stop() }
    const ports = await double.runForPeople()
    const shop = watchOrders()
    const { baseUrl } = provider
    const options = { id: 'openrouter', baseUrl, apiKey: 'k', timeoutMs: 60_000 }
    await using world = await openWorld(double.runtime, ports, {
      fetch: shop.fetch,
      providers: [createHttpProvider(options, { fetch: shop.fetch })],
      environment: film.environment,
    })
    // Radio streams are paid per minute to the broadcaster; agents buy through `/v1`.
    const agentPorts = new Set<number>(Object.values(ports))
    shop.neverMindAbout(({ origin, port }) => {
      return origin === world.muxUrl || agentPorts.has(Number(port)) || isNewAgent(world, Number(port))
    })

    const spending: string[] = []
    const unbooked: unknown[] = []
    const unconfigured: string[] = []
    for (const route of listRoutes(world)) {
      for (const body of SPENDING[route.key] ?? [undefined]) {
        const bought = await buy(world, shop, route, body)
        if (bought.status === 503) unconfigured.push(route.key)
        if (bought.orders.length > 0) spending.push(route.key)
        if (bought.orders.length !== bought.booked) unbooked.push({ route: route.key, ...bought })
      }
    }
    expect(unbooked).toEqual([])
    expect([...new Set(spending)].sort()).toEqual(Object.keys(SPENDING).sort())
    expect(unconfigured.sort()).toEqual(UNCONFIGURED)
  },
  NEVER_MS,
)

test('usage is recorded in one place', () => {
  const root = join(import.meta.dir, '../../..')
  const files = [...new Bun.Glob('src/**/*.ts').scanSync(root)].filter((file) => !file.endsWith('.test.ts'))
  const filesWith = (pattern: RegExp) => files.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')))
  expect(filesWith(/\busage\.record\(/)).toEqual(['src/features/ai/usage/spend.ts'])
  expect(filesWith(/insert\((?:tx, )?usageLogs\b|INTO usage_logs/i)).toEqual(['src/features/ai/usage/writer.ts'])
})

function isNewAgent({ agentsBasePort }: World, port: number): boolean {
  return port >= agentsBasePort && port < agentsBasePort + 100
}

/** Records every outgoing `fetch` that is not a mere read. */
function watchOrders() {
  const orders: string[] = []
  let isFree = (_url: URL) => false
  const watched = async (input: string | URL | Request, init?: RequestInit) => {
    const request = input instanceof Request ? input : null
    const method = (init?.method ?? request?.method ?? 'GET').toUpperCase()
    const url = request?.url ?? String(input)
    if (method !== 'GET' && method !== 'HEAD' && !isFree(new URL(url))) orders.push(`${method} ${url}`)
    return fetch(input, init)
  }
  return {
    orders,
    fetch: Object.assign(watched, { preconnect: fetch.preconnect }),
    neverMindAbout(judge: typeof isFree) {
      isFree = judge
    },
  }
}

/** Returns every route of the app, so that none can be left out. */
function listRoutes({ platform }: World): Route[] {
  return describeRoutes(createApp(platform, new Map()).routes).map((line) => {
    const [method = '', path = '', port = '', guard = ''] = line.split(' ')
    const api = port === 'backend' || port === 'summarizer' ? port : 'web'
    return { key: `${method} ${path} ${port}`, method, path, api, guard }
  })
}

/** Calls a route once. @returns the number of orders, and how many of them were recorded. */
async function buy(world: World, shop: ReturnType<typeof watchOrders>, route: Route, body: unknown) {
  const expectation: Expectation = ROUTES[route.key] ?? { status: 0 }
  const caller = listCallers(world).find(({ name }) => name === CALLERS[route.guard])
  if (!caller) throw new Error(`No caller passes the guard ${route.guard}`)
  const owner = caller.user ?? world.people.owner
  const id = expectation.names?.idOf(owner) ?? ''
  const toPath = expectation.path ?? ((named: string) => route.path.replace(':id', named))
  const init = toRequest(route.method, body ?? expectation.body?.({ id, owner, caller }))
  const headers = { ...Object.fromEntries(new Headers(init.headers)), ...caller.headers }
  const [ordered, before] = [shop.orders.length, countBooked(world)]
  const response = await world.call(route.api, toPath(id), { ...init, headers })
  await read(response, route.key in SPENDING)
  await world.idle()
  const booked = countBooked(world) - before
  if (world.findChanges().length > 0) await world.rewind()
  return { status: response.status, orders: shop.orders.slice(ordered), booked }
}

/** Reads a response; only the start of a stream that may not end. */
async function read(response: Response, isWhole: boolean): Promise<void> {
  if (isWhole || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.arrayBuffer()
    return
  }
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.cancel()
}

function countBooked({ platform }: World): number {
  return platform.db.select({ rows: count() }).from(usageLogs).get()?.rows ?? 0
}
