import { expect, test } from 'bun:test'
import { describeRoutes } from '../../../scripts/routes.ts'
import type { ApiName } from '../../../src/http/env.ts'
import { createApp } from '../../../src/server/app.ts'
import { watchLoop } from '../../harness/speed/loop-hold.ts'
import { measureSlowness } from '../../harness/speed/machine-speed.ts'
import { type Caller, listCallers } from '../../matrix/callers.ts'
import { ROUTES, toRequest } from '../../matrix/routes.ts'
import { startRuntimeDouble } from '../../matrix/runtime-double.ts'
import { openWorld, type World } from '../../matrix/world.ts'

const LIMIT_MS = 50
const MEGABYTE = 1024 * 1024
/** Bytes for the rest of a body. */
const SPARE_BYTES = 8192
const TRIES = 3
/** Time limit of a request; long polls have read their body by then. */
const WAIT_MS = 3000
const NEVER_MS = 600_000

/** Callers that may send the body; public routes read any caller's body in the same way. */
const SENDERS: Readonly<Record<string, string>> = {
  admin: 'admin',
  'internal-key': 'internal key for the owner',
  installer: 'internal key',
  bearer: 'owner’s key',
  'planned-bearer': 'owner’s key',
  'any-bearer': 'owner’s key',
  'unplanned-bearer': 'owner’s key',
  'agent-token': 'owner’s agent',
}

type Plain = Readonly<Record<string, unknown>>
type Measured = { what: string; ms: number; status: number; isUsual: boolean }
type Route = { key: string; method: string; path: string; api: ApiName; guard: string; maxBytes: number }

/**
 * Bodies of the maximum size with content that is slow to parse and validate. They are assembled as JSON text, because
 * serializing objects would take longer than the test.
 */
const LARGE: Readonly<Record<string, (plain: Plain, bytes: number) => string>> = {
  'each text is a URL of names without end': (plain, bytes) => swell(plain, bytes, 'string', urlOf('ä.')),
  'each text is one word': (plain, bytes) => swell(plain, bytes, 'string', (size) => `"${'a@'.repeat(size / 2)}"`),
  'each list is endless': (plain, bytes) =>
    swell(plain, bytes, 'object', (size) => `[${'{},'.repeat(Math.max(0, Math.floor(size / 3) - 1))}{}]`),
  'more fields than can be read': (plain, bytes) => toJson(plain, {}, manyFields(Math.floor(bytes / 13))),
  'as many fields as can be read': (plain) => toJson(plain, {}, manyFields(19_000)),
}

test(
  `no body blocks the event loop for more than ${LIMIT_MS} ms, whatever it contains`,
  async () => {
    using double = startRuntimeDouble()
    await using world = await openWorld(double.runtime, await double.runForPeople())
    const measured: Measured[] = []
    for (const route of listRoutes(world)) {
      for (const [what, toBody] of Object.entries(LARGE)) {
        const { ms, status } = await measure(world, route, toBody)
        const isUsual = status === ROUTES[route.key]?.status
        measured.push({ what: `${route.key}: ${what}`, ms: Math.round(ms), status, isUsual })
      }
    }
    const longest = measured.toSorted((one, other) => other.ms - one.ms)
    console.log(`longest of ${measured.length} bodies: ${JSON.stringify(longest.slice(0, 4))}`)
    expect(measured.length).toBeGreaterThan(500)
    expect(longest.filter(({ ms }) => ms > LIMIT_MS)).toEqual([])
    expect(measured.filter(({ status, isUsual }) => status === 500 && !isUsual)).toEqual([])
  },
  NEVER_MS,
)

function listRoutes({ platform }: World): Route[] {
  return describeRoutes(createApp(platform, new Map()).routes).flatMap((line) => {
    const [method = '', path = '', port = '', guard = ''] = line.split(' ')
    const api = port === 'backend' || port === 'summarizer' ? port : 'web'
    const maxBytes = Number(/maxBodyBytes=(\d+)/.exec(line)?.[1] ?? MEGABYTE)
    return ['POST', 'PUT', 'PATCH'].includes(method)
      ? [{ key: `${method} ${path} ${port}`, method, path, api, guard, maxBytes }]
      : []
  })
}

async function measure(
  world: World,
  route: Route,
  toBody: (plain: Plain, bytes: number) => string,
): Promise<{ ms: number; status: number }> {
  const name = SENDERS[route.guard] ?? 'owner'
  const caller = listCallers(world).find((one) => one.name === name)
  if (!caller) throw new Error(`No caller named ${name}`)
  const expectation = ROUTES[route.key] ?? { status: 0 }
  const person = caller.user ?? world.people.owner
  const id = expectation.names?.idOf(person) ?? ''
  const path = (expectation.path ?? ((named: string) => route.path.replace(/:id|:agentId|:userId/, named)))(id)
  const usual = expectation.body?.({ id, owner: person, caller })
  const plain = isPlain(usual) ? usual : {}
  const body = new TextEncoder().encode(toBody(plain, route.maxBytes - SPARE_BYTES))
  let best = { ms: Number.POSITIVE_INFINITY, status: 0 }
  for (let attempt = 0; attempt < TRIES && best.ms > LIMIT_MS; attempt++) {
    const { headers, ...init } = toRequest(route.method, plain)
    const all = { ...Object.fromEntries(new Headers(headers)), ...(await freshHeaders(world, caller)) }
    const watch = watchLoop()
    const status = await sendBriefly(world, route.api, path, { ...init, body, headers: all })
    const { workMs } = watch.stop()
    const ms = workMs > LIMIT_MS ? workMs / measureSlowness() : workMs
    if (ms < best.ms) best = { ms, status }
  }
  return best
}

/** Sends a request. @returns the status, 0 without a prompt response. */
async function sendBriefly(world: World, api: ApiName, path: string, init: RequestInit): Promise<number> {
  const leaving = new AbortController()
  const response = await Promise.race([world.send(api, path, { ...init, signal: leaving.signal }), Bun.sleep(WAIT_MS)])
  leaving.abort()
  await response?.body?.cancel().catch(() => undefined)
  return response?.status ?? 0
}

/** Signs in again, because some of the calls end sessions. */
async function freshHeaders({ platform }: World, { user, headers }: Caller): Promise<Record<string, string>> {
  if (!user || headers.cookie === undefined) return headers
  return { ...headers, cookie: `service-session=${await platform.sessions.create(user.id)}` }
}

function isPlain(body: unknown): body is Plain {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && !(body instanceof FormData)
}

/** Replaces each field of this kind by the JSON of `fill`; together they have `bytes`. */
function swell(plain: Plain, bytes: number, kind: 'string' | 'object', fill: (size: number) => string): string {
  const names = Object.keys(plain).filter((name) => typeof plain[name] === kind)
  const size = Math.floor(bytes / Math.max(1, names.length))
  return toJson(plain, Object.fromEntries(names.map((name) => [name, fill(size)])))
}

/** Serializes `plain` with `values`, which are JSON, and adds the fields `more`. */
function toJson(plain: Plain, values: Readonly<Record<string, string>>, more?: string): string {
  const fields = Object.entries(plain).flatMap(([name, value]) => {
    const text = values[name] ?? JSON.stringify(value)
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]
  })
  return `{${[...fields, ...(more === undefined ? [] : [more])].join(',')}}`
}

function urlOf(piece: string): (size: number) => string {
  const pieceBytes = Buffer.byteLength(piece)
  return (size) => `"https://${piece.repeat(Math.max(1, Math.floor((size - 20) / pieceBytes)))}"`
}

const fieldsByCount = new Map<number, string>()

function manyFields(count: number): string {
  const known = fieldsByCount.get(count)
  if (known !== undefined) return known
  const fields = Array.from({ length: count }, (_, index) => `"field${index}":1`).join(',')
  fieldsByCount.set(count, fields)
  return fields
}
