import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { openRaw } from '../../harness/wires/raw-http.ts'

type Route = { method: string; path: string; port: string; guard: string }

const ROUTES = (await Bun.file(join(import.meta.dir, '../..', 'endpoints.txt')).text())
  .trim()
  .split('\n')
  .map((line): Route => {
    const [method = '', path = '', port = '', guard = ''] = line.split(' ')
    return { method, path: path.replace(/:\w+/g, 'something'), port, guard }
  })
  .filter(({ method }) => method !== 'GET' && method !== 'ALL')

/** Webhooks that are authenticated by a signature of the body, so the body must be read first. */
const SIGNED = [
  '/api/security/risc',
  '/api/auth/idp-b/risc',
  '/api/webhooks/video',
  '/api/webhooks/email',
  '/api/webhooks/stripe',
]
/** Half of this length is an incomplete body and exceeds one read. */
const LENGTH = 400_000

test('every guarded route responds to a stranger before the body arrives', async () => {
  await using server = await startServer(WITHOUT_RATES)
  const guarded = ROUTES.filter(({ guard }) => guard !== 'public')
  expect(guarded.length).toBeGreaterThan(80)
  for (const route of guarded) {
    using connection = await openRaw(urlOf(server.urls, route))
    await connection.write(halfOf(route))
    const { status } = await connection.answer()
    expect(`${route.method} ${route.path}: ${status}`).toMatch(/: 40[123]$/)
  }
})

test('every public route that reads a body limits its rate before', async () => {
  await using server = await startServer(ONE_A_MINUTE)
  const open = ROUTES.filter(({ guard, path }) => guard === 'public' && !SIGNED.includes(path))
  expect(open.length).toBeGreaterThan(10)
  for (const route of open) {
    using first = await openRaw(urlOf(server.urls, route))
    using second = await openRaw(urlOf(server.urls, route))
    // The first may wait for its body; later ones are rejected without it. Some routes reject anonymous callers
    // themselves.
    for (const connection of [first, second]) await connection.write(halfOf(route))
    const answer = await until(`an answer of ${route.method} ${route.path}`, () =>
      [first, second].find((connection) => connection.received() !== ''),
    )
    const { status } = await answer.answer()
    expect(`${route.method} ${route.path}: ${status}`).toMatch(/: (?:200|401|404|429)$/)
  }
})

const RATES = [
  'BACKEND',
  'AI',
  'DEPLOYMENTS',
  'AGENTS',
  'CHAT',
  'INSTANCE',
  'PROVISION',
  'DEMO',
  'SUMMARIZER',
  'GATEWAY',
]
const SIGN_IN_RATES = ['REGISTER', 'LOGIN', 'PASSWORD']
const WITHOUT_RATES = ratesOf('1000000')
const ONE_A_MINUTE = ratesOf('1')

function ratesOf(limit: string): Record<string, string> {
  return Object.fromEntries([...RATES, ...SIGN_IN_RATES].map((name) => [`RATE_LIMIT_${name}`, limit]))
}

function urlOf(urls: Record<string, string>, { port }: Route): string {
  return urls[port] ?? ''
}

function halfOf({ method, path }: Route): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json']
  return `${head.join('\r\n')}\r\nContent-Length: ${LENGTH}\r\n\r\n{"half": "${'x'.repeat(LENGTH / 2)}`
}
