import { expect, test } from 'bun:test'
import { describeRoutes } from '../../../scripts/routes.ts'
import type { ApiName } from '../../../src/http/env.ts'
import { createApp } from '../../../src/server/app.ts'
import { repeatingJobs } from '../../../src/server/jobs.ts'
import { fillAgent, fillDatabase } from '../../harness/rows/large-database.ts'
import { type Hold, watchLoop } from '../../harness/speed/loop-hold.ts'
import { measureSlowness } from '../../harness/speed/machine-speed.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import { type Caller, listCallers } from '../../matrix/callers.ts'
import { ROUTES, toRequest } from '../../matrix/routes.ts'
import { startRuntimeDouble } from '../../matrix/runtime-double.ts'
import { openWorld, type World } from '../../matrix/world.ts'

/**
 * Share of the full database (1,000,000 usage rows, 300,000 messages) and the event loop limit at that size. The limit at
 * the CI size corresponds to 50 ms at the full size.
 */
const PART = Number(process.env.LOOP_PART ?? 0.06)
const LIMIT_MS = PART < 1 ? 25 : 50
/**
 * Limit for routes that can run only once, where a repetition cannot rule out noise. They work in steps whose length
 * does not depend on the size of the database, so the full limit applies.
 */
const ONCE_LIMIT_MS = 50
/** Repetitions of a slow measurement, to rule out noise. */
const TRIES = 4
/** Observation time of endless streams and listening jobs. */
const JOB_MS = 500
const NEVER_MS = 600_000

/** Requests that read more than those of the access matrix. */
const FURTHER: Readonly<Record<string, readonly string[]>> = {
  'GET /api/admin/agents web': [
    '/api/admin/agents?limit=200&after=other-agent-2000',
    '/api/admin/agents?search=nobody&limit=200',
    '/api/admin/agents?search=other&limit=200&after=other-agent-2000',
    '/api/admin/agents?status=provisioning&limit=200',
  ],
  'GET /api/admin/audit web': ['/api/admin/audit?limit=200', '/api/admin/audit?limit=200&before=1000'],
  'GET /api/admin/jobs web': [
    '/api/admin/jobs?state=done&limit=200',
    '/api/admin/jobs?state=dead&limit=200',
    '/api/admin/jobs?state=dead&limit=200&after=filled-job-20000',
  ],
  'GET /api/admin/users web': [
    '/api/admin/users?limit=200&after=usr_other_2000',
    '/api/admin/users?search=nobody&limit=200',
    '/api/admin/users?search=other%201&limit=200&after=usr_other_2000',
  ],
  'GET /api/approvals web': ['/api/approvals?limit=100'],
  'GET /api/chat web': [
    '/api/chat?limit=100',
    '/api/chat?limit=100&before=msg_filled_1000',
    '/api/chat?limit=100&replacedBy=msg_filled_1000',
  ],
  'GET /api/chat/search web': [
    '/api/chat/search?q=said&limit=100',
    '/api/chat/search?q=w',
    '/api/chat/search?q=what%20was%20said%20at%20turn%201',
    '/api/chat/search?q=nothing&limit=100',
    '/api/chat/search?q=said&limit=100&before=msg_filled_1000',
  ],
  'GET /api/chat/sessions web': ['/api/chat/sessions?limit=100'],
  'GET /api/dashboard/cost web': ['/api/dashboard/cost?period=30d', '/api/dashboard/cost?period=mtd'],
  'GET /api/inbox web': ['/api/inbox?limit=100'],
  'GET /api/memory web': ['/api/memory', '/api/memory?q=m&limit=100', '/api/memory?q=message&limit=100'],
  'GET /api/notices web': ['/api/notices?limit=100', '/api/notices?limit=100&before=1000'],
  'GET /api/usage/by-model backend': ['/api/usage/by-model?days=366'],
  'GET /api/usage/calls web': ['/api/usage/calls?limit=100'],
  'GET /api/usage/daily backend': ['/api/usage/daily?days=366'],
  'GET /api/usage/export web': ['/api/usage/export?days=366'],
  'GET /api/usage/summary backend': ['/api/usage/summary?days=366'],
  'GET /api/usage/tools backend': ['/api/usage/tools?days=366'],
}

/** Routes that delete much data. Each gets its own agent with all messages. */
const DESTROYS: Readonly<Record<string, { agentId?: string }>> = {
  'DELETE /api/agents/:id web': {},
  'DELETE /api/agents/:id backend': { agentId: 'filled-agent-2' },
  'DELETE /api/settings/account web': {},
}

/** Callers with the least and with the most data. */
const CALLERS: Readonly<Record<string, readonly string[]>> = {
  public: ['owner'],
  session: ['stranger', 'owner'],
  'signed-in': ['stranger', 'owner'],
  admin: ['admin'],
  'internal-key': ['internal key for the owner', 'internal key'],
  installer: ['internal key'],
  bearer: ['owner’s key'],
  'planned-bearer': ['owner’s key'],
}

type Route = { key: string; method: string; path: string; api: ApiName; guard: string }
type Measured = Hold & { what: string; isOnce?: boolean }

test(
  `no request and no job blocks the event loop for more than ${LIMIT_MS} ms, with ${PART * 1_000_000} rows of usage and ${PART * 300_000} messages`,
  async () => {
    using folder = tempFolder()
    using double = startRuntimeDouble()
    const ports = await double.runForPeople()
    const file = folder.file('stead.db')
    await using world = await openWorld(double.runtime, ports, { databaseFile: file })
    fillWorld(world, file)
    const slowness = measureSlowness()
    const limitMs = LIMIT_MS * slowness
    const measured: Measured[] = []
    for (const route of listRoutes(world)) {
      for (const name of CALLERS[route.guard] ?? []) measured.push(...(await measureRoute(world, route, name, limitMs)))
    }
    const watch = () => world.platform.monitoring.exposition.write()
    measured.push({ what: 'GET /metrics backend', ...(await measureUpTo(TRIES, limitMs, watch)) })
    for (const job of repeatingJobs(world.platform)) {
      const run = () => job.run(AbortSignal.timeout(JOB_MS)).catch(() => undefined)
      measured.push({ what: `job ${job.name}`, ...(await measureUpTo(TRIES, limitMs, run)) })
    }
    const longest = measured.toSorted((one, other) => other.workMs - one.workMs)
    console.log(`longest holds of ${measured.length}:\n${longest.slice(0, 8).map(toLine).join('\n')}`)
    const limitOf = ({ isOnce }: Measured) => (isOnce ? ONCE_LIMIT_MS * slowness : limitMs)
    expect(longest.filter((one) => one.workMs > limitOf(one)).map(toLine)).toEqual([])
  },
  NEVER_MS,
)

function fillWorld({ people: { owner }, platform }: World, file: string): void {
  const heavy = {
    userId: owner.id,
    agentId: owner.agentId,
    taskId: `task_${owner.canary}`,
    swarmId: `swarm_${owner.canary}`,
  }
  const size = { usageRows: 1_000_000 * PART, messages: 300_000 * PART }
  fillDatabase(file, heavy, size, platform.clock.now())
  for (const { agentId } of Object.values(DESTROYS)) {
    if (agentId) fillAgent(file, { userId: owner.id, agentId }, size.messages, platform.clock.now())
  }
}

/** Returns every route: reading routes first, deleting ones last. */
function listRoutes({ platform }: World): Route[] {
  const routes = describeRoutes(createApp(platform, new Map()).routes).map((line): Route => {
    const [method = '', path = '', port = '', guard = ''] = line.split(' ')
    const api = port === 'backend' || port === 'summarizer' ? port : 'web'
    return { key: `${method} ${path} ${port}`, method, path, api, guard }
  })
  const order = ({ key, method }: Route) => {
    if (key in DESTROYS) return 2 + Object.keys(DESTROYS).indexOf(key)
    return method === 'GET' ? 0 : 1
  }
  return routes.sort((one, other) => order(one) - order(other))
}

async function measureRoute(world: World, route: Route, name: string, limitMs: number): Promise<Measured[]> {
  const expectation = ROUTES[route.key] ?? { status: 0 }
  const caller = listCallers(world).find((one) => one.name === name)
  if (!caller) throw new Error(`No caller named ${name}`)
  const person = caller.user ?? world.people.owner
  const id = DESTROYS[route.key]?.agentId ?? expectation.names?.idOf(person) ?? ''
  const toPath = expectation.path ?? ((named: string) => route.path.replace(/:id|:agentId|:userId/, named))
  const isDestroyed = route.key in DESTROYS && name !== 'stranger'
  const measured: Measured[] = []
  for (const path of [toPath(id), ...(FURTHER[route.key] ?? [])]) {
    const init = toRequest(route.method, expectation.body?.({ id, owner: person, caller }))
    const hold = await measureUpTo(isDestroyed ? 1 : TRIES, limitMs, async () => {
      const headers = { ...Object.fromEntries(new Headers(init.headers)), ...(await freshHeaders(world, caller)) }
      await drain(await world.send(route.api, path, { ...init, headers }))
      if (route.method !== 'GET') await until('the end of all jobs', () => !world.hasDueJobs(), NEVER_MS)
    })
    measured.push({ what: `${name}: ${route.method} ${path} ${route.api}`, isOnce: isDestroyed, ...hold })
  }
  return measured
}

/** Signs in again, because some of the calls end sessions. */
async function freshHeaders({ platform }: World, { user, headers }: Caller): Promise<Record<string, string>> {
  if (!user || headers.cookie === undefined) return headers
  return { ...headers, cookie: `service-session=${await platform.sessions.create(user.id)}` }
}

/** Reads a response as its caller would; only the start of an event stream. */
async function drain(response: Response): Promise<void> {
  const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream')
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); part && !part.done && !isEndless; part = await reader?.read());
  if (isEndless) await reader?.cancel()
}

/** Returns the shortest measurement of up to `tries`; stops at the first one below `limitMs`. */
async function measureUpTo(tries: number, limitMs: number, run: () => Promise<unknown>): Promise<Hold> {
  let least: Hold = { wallMs: Number.POSITIVE_INFINITY, workMs: Number.POSITIVE_INFINITY }
  for (let attempt = 0; attempt < tries && least.workMs > limitMs; attempt++) {
    const watch = watchLoop()
    await run()
    const hold = watch.stop()
    if (hold.workMs < least.workMs) least = hold
  }
  return least
}

function toLine({ what, workMs, wallMs }: Measured): string {
  return `${workMs.toFixed(1).padStart(8)} ms (${wallMs.toFixed(0)} by the clock)  ${what}`
}
