import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ApiName } from '../../../src/http/env.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { type Caller, GUARDS, listCallers } from '../../matrix/callers.ts'
import { ROUTES } from '../../matrix/routes.ts'
import { startRuntimeDouble } from '../../matrix/runtime-double.ts'
import { openWorld, type World } from '../../matrix/world.ts'
import { type BodyDraft, type Draft, draftRequests } from './requests.ts'

/** `FUZZ_SEED` and `FUZZ_REQUESTS` change the seed and the number of requests. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_120)
const REQUESTS = roundsOf('FUZZ_REQUESTS', 1000)
/** Requests per test world, because they may delete its users and agents. */
const REQUESTS_PER_WORLD = 250
const AT_ONCE = 8
const MAX_ANSWER_MS = atMostMs(20_000)

/** Documented responses with status 500. */
const DOCUMENTED_500: readonly [route: RegExp, text: RegExp][] = [
  [/^\w+ \/api\/browse\/git-\w+ /, /^\{"error":"Not a git repository","ok":false\}$/],
  [/ summarizer$/, /^\{"error":"Could not reach [^{}]*"\}$/],
]
/** Internals that no response may contain: a stack trace, a source path, a database error. */
const INSIDES = /\n\s+at |\.ts:\d+|node_modules|\/src\/|SQLITE_|SqliteError|ZodError|TypeError|RangeError|SyntaxError/

type Route = { key: string; method: string; path: string; api: ApiName; guard: string }
const ROUTE_LIST = readFileSync(join(import.meta.dir, '../..', 'endpoints.txt'), 'utf8')
  .trim()
  .split('\n')
  .map(readRoute)

function readRoute(line: string): Route {
  const [method = '', path = '', port = '', guard = ''] = line.split(' ')
  if (port !== 'web' && port !== 'backend' && port !== 'summarizer') throw new Error(`No such port: ${line}`)
  return { key: `${method} ${path} ${port}`, method, path, api: port, guard }
}

test(
  'no request makes a route respond with 500, leak internals or hang',
  async () => {
    console.log(`fuzz: seed ${SEED}, ${REQUESTS} requests in ${ROUTE_LIST.length} routes`)
    using double = startRuntimeDouble()
    const ports = await double.runForPeople()
    const drafts = draftRequests(SEED, REQUESTS)
    const statuses = new Map<number, number>()
    const wrong: unknown[] = []
    for (let start = 0; start < drafts.length; start += REQUESTS_PER_WORLD) {
      await using world = await openWorld(double.runtime, ports)
      const waiting = drafts.slice(start, start + REQUESTS_PER_WORLD)
      const worker = async () => {
        for (let draft = waiting.shift(); draft; draft = waiting.shift()) {
          const { status, problem } = await send(world, draft)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          if (problem) wrong.push(problem)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
    }
    console.log(`fuzz: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`)
    expect(wrong.slice(0, 20)).toEqual([])
    // `__proto__` and `constructor` changed no prototype.
    expect(Object.keys(Object.prototype)).toEqual([])
    expect('isAdmin' in {}).toBe(false)
    // Too many rejections would mean that no handler was reached.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(REQUESTS / 10)
  },
  Math.max(300_000, REQUESTS * 100),
)

async function send(world: World, draft: Draft) {
  const route = ROUTE_LIST[draft.route % ROUTE_LIST.length] ?? ROUTE_LIST[0]
  if (!route) throw new Error('The app has no routes')
  const caller = pickCaller(world, route, draft)
  const target = toPath(world, route, draft, caller)
  const init = toInit(world, route, draft, caller)
  const startedAt = performance.now()
  const response = await world.call(route.api, target, init)
  const text = await readBody(response)
  const tookMs = performance.now() - startedAt
  const isDocumented = DOCUMENTED_500.some(
    ([routes, texts]) => routes.test(route.key) && (init.method === 'HEAD' || texts.test(text)),
  )
  const isFault = response.status === 500 && !isDocumented
  if (!isFault && !INSIDES.test(text) && tookMs < MAX_ANSWER_MS) return { status: response.status, problem: null }
  const id = response.headers.get('x-request-id') ?? ''
  const log = world.logLines.filter((line) => id && line.includes(id)).join('\n')
  const asked = { route: route.key, caller: caller.name, target, body: String(init.body).slice(0, 300) }
  const problem = { ...asked, status: response.status, tookMs, text: text.slice(0, 300), log: log.slice(0, 1000) }
  return { status: response.status, problem }
}

/** Selects a caller that the guard accepts in three of four cases, to reach the handlers. */
function pickCaller(world: World, { guard, method }: Route, draft: Draft): Caller {
  const callers = listCallers(world)
  const welcome = callers.filter((caller) => (GUARDS[guard]?.(caller, method) ?? null) === null)
  const chosen = draft.caller % 4 > 0 && welcome.length > 0 ? welcome : callers
  const caller = chosen[Math.floor(draft.caller / 4) % chosen.length]
  if (!caller) throw new Error('The matrix has no callers')
  return caller
}

function toPath(world: World, route: Route, { id, suffix, query }: Draft, caller: Caller): string {
  const expectation = ROUTES[route.key]
  const named = expectation?.names?.idOf(caller.user ?? world.people.owner) ?? ''
  const own = (expectation?.path ?? ((own: string) => route.path.replace(/:\w+/, own)))(named)
  const path = id === null ? own : route.path.replace(/:\w+/g, () => escapeText(id))
  const search = new URLSearchParams(
    query.map(([name, text]): [string, string] => [name, text.toWellFormed()]),
  ).toString()
  const separator = path.includes('?') ? '&' : '?'
  return `${path.replace(/[:*]/g, '')}${suffix}${search && `${separator}${search}`}`
}

/** Escapes lone surrogates, which a URL cannot contain. */
function escapeText(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

function toInit(
  world: World,
  route: Route,
  draft: Draft,
  caller: Caller,
): RequestInit & { headers: Record<string, string> } {
  const method = draft.method ?? (route.method === 'ALL' ? 'POST' : route.method)
  const headers = { ...Object.fromEntries(draft.headers), ...caller.headers }
  if (method === 'GET' || method === 'HEAD') return { method, headers }
  const body = toBody(draft.body, validBody(world, route, caller))
  if (body !== undefined && draft.contentType !== null) headers['content-type'] = draft.contentType
  return { method, headers, ...(body !== undefined && { body }) }
}

function validBody(world: World, route: Route, caller: Caller): unknown {
  const expectation = ROUTES[route.key]
  const owner = caller.user ?? world.people.owner
  const id = expectation?.names?.idOf(owner) ?? ''
  return expectation?.body?.({ id, owner, caller }) ?? {}
}

function toBody(draft: BodyDraft, valid: unknown): string | Uint8Array<ArrayBuffer> | undefined {
  switch (draft.kind) {
    case 'none':
      return undefined
    case 'valid':
      return JSON.stringify(valid)
    case 'json':
      return JSON.stringify(draft.value)
    case 'cut':
      return JSON.stringify(valid).slice(0, draft.length)
    case 'text':
      return draft.text
    case 'bytes':
      return draft.bytes
    case 'changed': {
      const fields = Object.entries(typeof valid === 'object' && valid !== null ? valid : {})
      for (const { field, name, value } of draft.changes) {
        const index = field % Math.max(1, fields.length)
        if (name === null) fields[index] = [fields[index]?.[0] ?? 'name', value]
        else fields.push([name, value])
      }
      // Built as text, because an object would lose `__proto__`.
      return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value) ?? 'null'}`).join(',')}}`
    }
  }
}

/** Returns the body, or the start of a stream. */
async function readBody(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return new TextDecoder().decode(first?.value)
}
