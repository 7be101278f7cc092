import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ApiName } from '../../src/http/env.ts'
import { type Caller, GUARDS, listCallers } from './callers.ts'
import { type Expectation, ROUTES, type Target, toRequest } from './routes.ts'
import { startRuntimeDouble } from './runtime-double.ts'
import { openWorld, type Person, type World } from './world.ts'

const API_NAMES: Readonly<Record<string, ApiName>> = { web: 'web', backend: 'backend', summarizer: 'summarizer' }
const ENDPOINTS = readFileSync(join(import.meta.dir, '..', 'endpoints.txt'), 'utf8')
  .trim()
  .split('\n')
  .map(readLine)

/** A line of `tests/endpoints.txt`. */
type Endpoint = { key: string; method: string; path: string; port: ApiName; guard: string }

function readLine(line: string): Endpoint {
  const [method = '', path = '', port = '', guard = ''] = line.split(' ')
  const api = API_NAMES[port]
  if (!api) throw new Error(`No such port: ${line}`)
  return { key: `${method} ${path} ${port}`, method, path, port: api, guard }
}

const double = startRuntimeDouble()
const ports = await double.runForPeople()
const closings: (() => void)[] = []
/** One world for all routes, restored between them, because opening one takes longer than all requests of a route. */
let opened: Promise<World> | undefined
let cells = 0
afterAll(async () => {
  await (await opened)?.[Symbol.asyncDispose]()
  for (const close of closings) close()
  double[Symbol.dispose]()
  console.log(`access matrix: ${cells} cells in ${ENDPOINTS.length} routes`)
})

test('every route of tests/endpoints.txt has an expectation, and no other route has one', () => {
  expect(Object.keys(ROUTES).sort()).toEqual(ENDPOINTS.map(({ key }) => key).sort())
  expect(ENDPOINTS.filter(({ guard }) => !(guard in GUARDS))).toEqual([])
})

test.each(ENDPOINTS.map((endpoint): [string, Endpoint] => [`${endpoint.key} ${endpoint.guard}`, endpoint]))(
  '%s',
  async (_line, endpoint) => {
    const expectation = ROUTES[endpoint.key] ?? { status: 0 }
    const targets: Target[] = expectation.names ? ['own', 'foreign', 'missing'] : ['own']
    const wrong: unknown[] = []
    opened ??= openWorld(double.runtime, ports, { closeLater: (close) => void closings.push(close) })
    const world = await opened
    await world.idle()
    if (world.findChanges().length > 0) await world.rewind()
    const logged = world.logLines.length
    for (const caller of listCallers(world)) {
      for (const target of targets) {
        const problems = await ask(world, endpoint, expectation, caller, target)
        const changes = world.findChanges()
        if (isHarmless(endpoint, expectation, caller, target)) problems.push(...changes.map((row) => `changed ${row}`))
        if (problems.length > 0) wrong.push({ caller: caller.name, target, problems })
        // Undo the effects of an allowed call before the next one.
        if (changes.length > 0) await world.rewind()
        cells++
      }
    }
    expect(wrong).toEqual([])
    const log = world.logLines.slice(logged).join('\n')
    expect(world.secrets.filter((secret) => log.includes(secret))).toEqual([])
  },
  300_000,
)

/** Sends one request. @returns the problems of its response. */
async function ask(world: World, endpoint: Endpoint, expectation: Expectation, caller: Caller, target: Target) {
  const { owner, id } = aim(world, expectation, caller, target)
  const path = (expectation.path ?? ((named: string) => endpoint.path.replace(':id', named)))(id)
  const request = toRequest(endpoint.method, expectation.body?.({ id, owner, caller }))
  const headers = { ...Object.fromEntries(new Headers(request.headers)), ...caller.headers }
  const response = await world.call(endpoint.port, path, { ...request, headers })
  const expected = refusalOf(endpoint, expectation, caller) ?? statusOf(expectation, caller, target, owner)
  const text = `${await readBody(response)}\n${[...response.headers.values()].join('\n')}`
  const reported = expected === 200 && owner ? expectation.secret?.(owner) : undefined
  const leaks = [
    ...hiddenFrom(world, endpoint, caller, text.replaceAll(id || '\0', '')),
    ...world.secrets.filter((secret) => secret !== reported && text.includes(secret)),
  ]
  return [
    ...(response.status === expected ? [] : [`${response.status} in place of ${expected}: ${text.slice(0, 200)}`]),
    ...leaks.map((leak) => `returns ${leak}`),
  ]
}

function aim({ people }: World, { names }: Expectation, { user }: Caller, target: Target) {
  const own = user ?? people.owner
  const other = own === people.owner ? people.stranger : people.owner
  const owner: Person | null = target === 'missing' ? null : target === 'own' ? own : other
  return { owner, id: names ? (owner ? names.idOf(owner) : names.missing) : '' }
}

function refusalOf({ guard, method }: Endpoint, { refusal, acts }: Expectation, caller: Caller): number | null {
  if (acts && caller.proof === 'reading key') return 403
  const status = GUARDS[guard]?.(caller, method) ?? null
  return status === null || !refusal ? status : refusal(status)
}

/** Returns the expected status behind the guard. The operator is not a user and may read every row. */
function statusOf(
  { status, foreign = 404, missing = 404 }: Expectation,
  caller: Caller,
  target: Target,
  owner: Person | null,
) {
  if (owner === null) return typeof missing === 'function' ? missing(caller) : missing
  if (target === 'foreign' && !isOperator(caller)) return foreign
  return typeof status === 'function' ? status(caller) : status
}

/** Returns names, email addresses and texts of other users found in the response. */
function hiddenFrom({ people }: World, { port, guard }: Endpoint, caller: Caller, text: string): string[] {
  const isAllowed =
    (caller.proof === 'admin session' && guard === 'admin') || (isOperator(caller) && port === 'backend')
  if (isAllowed) return []
  return Object.values(people)
    .filter((person) => person !== caller.user)
    .flatMap(({ canary, id }) => [canary, id])
    .filter((word) => text.includes(word))
}

/** Returns whether the request must not change the database: reads, rejected requests, and resources of other users. */
function isHarmless(
  { method, ...endpoint }: Endpoint,
  expectation: Expectation,
  caller: Caller,
  target: Target,
): boolean {
  if (refusalOf({ ...endpoint, method }, expectation, caller) !== null) return true
  if (expectation.writes || (expectation.creates && target === 'missing')) return false
  if (method === 'GET') return true
  return target !== 'own' && !isOperator(caller) && endpoint.guard !== 'admin'
}

function isOperator({ proof, user }: Caller): boolean {
  return proof === 'internal key' && user === null
}

/** Returns the body, or the start of a stream. */
async function readBody(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return new TextDecoder().decode(first?.value)
}
