import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../tests/harness/platform.ts'
import { bearer, json } from '../../tests/harness/requests.ts'
import { write } from '../db/write.ts'
import { createApp } from './app.ts'
import type { Dashboard } from './dashboard.ts'

const FILES: Dashboard = new Map([
  ['/index.html', new Blob(['<!doctype html><title>Stead</title>'], { type: 'text/html;charset=utf-8' })],
  ['/assets/index-1a2b.js', new Blob(['start()'], { type: 'text/javascript;charset=utf-8' })],
])

/** Returns a client of the web API with a dashboard of two files. */
function withDashboard() {
  const app = createApp(testPlatform().platform, FILES)
  return async (path: string, init: RequestInit = {}) =>
    app.fetch(new Request(`http://localhost:3000${path}`, init), { api: 'web', address: '203.0.113.7' })
}

test.each(['/', '/agents', '/agents/', '/agents/ada.1', '/agents/ada-1/logs', '/login?x=1', '/index.html'])(
  'GET %s: 200 with the dashboard, which resolves its own path',
  async (path) => {
    const response = await withDashboard()(path)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toStartWith('text/html')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(await response.text()).toContain('<title>Stead</title>')
  },
)

const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }

test.each(['/no/such/page', '/agents/ada-1/nothing', '/loginn', '/settings/secret', '//', '/Login'])(
  'GET %s: 404 with a page for browsers and JSON for other clients',
  async (path) => {
    const get = withDashboard()
    const shown = await get(path, BROWSER)
    expect([shown.status, shown.headers.get('cache-control')]).toEqual([404, 'no-cache'])
    expect(await shown.text()).toContain('<title>Stead</title>')
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      const plain = await get(path, { headers })
      expect([plain.status, await plain.json()]).toEqual([404, { error: 'Not found' }])
    }
  },
)

test.each(['/metrics', '/favicon.ico', '/robots.txt', '/.well-known/security.txt', '/assets/gone.js'])(
  'GET %s: 404 as JSON and not the dashboard',
  async (path) => {
    const response = await withDashboard()(path, BROWSER)
    expect([response.status, await response.json()]).toEqual([404, { error: 'Not found' }])
  },
)

test('GET /assets/…: 200 with its type and immutable caching, 404 when it does not exist', async () => {
  const get = withDashboard()
  const asset = await get('/assets/index-1a2b.js')
  expect(asset.status).toBe(200)
  expect(asset.headers.get('content-type')).toStartWith('text/javascript')
  expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(await asset.text()).toBe('start()')
  expect((await get('/assets/index-old.js')).status).toBe(404)
})

test('GET /: 200 with security headers that forbid foreign scripts and framing', async () => {
  const response = await withDashboard()('/')
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self';")
  expect(policy).toContain("connect-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(response.headers.get('x-frame-options')).toBe('DENY')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
})

test('GET /: 503 with instructions when the dashboard is not built; the API works', async () => {
  const { web } = testPlatform()
  const page = await web.request('/')
  expect(page.status).toBe(503)
  expect(await page.text()).toContain('bun run build:web')
  expect((await web.request('/api/health')).status).toBe(200)
})

test.each([
  ['web', '/api/nothing'],
  ['web', '/api'],
  ['web', '/api/test-usage'],
  ['web', '/api/deployments'],
  ['web', '/api/ai/models'],
  ['web', '/api/validate-key'],
  ['backend', '/'],
  ['backend', '/nothing'],
  ['backend', '/api/keys'],
  ['backend', '/api/register'],
  ['summarizer', '/api/health'],
  ['summarizer', '/backend/health'],
] as const)('POST on the %s port to %s: 404, because each port has its own routes', async (name, path) => {
  const { api } = testPlatform()
  const response = await api(name).request(path, json('POST', {}, bearer(INTERNAL_KEY)))
  expect(response.status).toBe(404)
  expect(await response.json()).toEqual({ error: 'Not found' })
})

test.each(['/backend/api/agents', '//backend/api/agents', '/%62ackend/api/agents', '/web/../backend/api/agents'])(
  'GET %s on the web port: no route of the backend API responds',
  async (path) => {
    const { web } = testPlatform()
    const response = await web.request(path, { headers: bearer(INTERNAL_KEY) })
    expect(await response.text()).not.toContain('[')
  },
)

test('an unexpected failure: 500 with a request id; details are in the log only', async () => {
  const logLines: string[] = []
  const { web, platform } = testPlatform({ logLines })
  await write(platform.db, (tx) => tx.run(sql`ALTER TABLE users RENAME TO gone`))
  const response = await web.request(
    '/api/register',
    json('POST', { email: 'a@example.com', password: 'correct horse' }),
  )
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ error: 'Internal error' })
  const line = JSON.parse(logLines.at(-1) ?? '')
  expect(line).toMatchObject({ requestId: response.headers.get('x-request-id') ?? '', error: expect.any(String) })
})
