import { beforeAll, expect, test } from 'bun:test'
import { brotliDecompressSync } from 'node:zlib'
import { dashboardWeb, openDashboard } from '../src/server/dashboard.ts'
import { buildDashboard } from './harness/browser.ts'

/** Limit of the compressed scripts and styles of a page's first load. */
const BUDGET_BYTES = 222 * 1024
/** Pages that have their own chunk. */
const PAGES = [
  'login-page',
  'signup-page',
  'landing-page',
  'agents-page',
  'chat-page',
  'overview-page',
  'agent-settings-page',
  'keys-page',
  'models-page',
]

beforeAll(buildDashboard, 300_000)

test.each(PAGES)('the first load of %s takes at most 222 KiB of scripts and styles', async (page) => {
  const files = openDashboard()
  const html = await files.get('/index.html')?.text()
  const first = [...(html ?? '').matchAll(/(?:href|src)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(
    ([, path]) => path ?? '',
  )
  const chunk = [...files.keys()].find((path) => path.startsWith(`/assets/${page}-`) && path.endsWith('.js'))
  expect(chunk).toBeDefined()
  expect(first.length).toBeGreaterThanOrEqual(2)
  const loaded = new Set<string>()
  for (const path of [...first, chunk ?? '']) await load(path, files, loaded)
  const sizes = [...loaded].map((path) => files.get(`${path}.br`)?.size ?? Number.NaN)
  const sum = sizes.reduce((total, size) => total + size, 0)
  console.log(`${page}: ${loaded.size} files, ${(sum / 1000).toFixed(1)} kB`)
  expect(sum).toBeLessThanOrEqual(BUDGET_BYTES)
})

/** Loads a script with its static imports; dynamic imports are not part of the first load. */
async function load(path: string, files: ReadonlyMap<string, Blob>, loaded: Set<string>): Promise<void> {
  if (loaded.has(path)) return
  loaded.add(path)
  if (!path.endsWith('.js')) return
  const imports = new Bun.Transpiler({ loader: 'js' }).scanImports((await files.get(path)?.text()) ?? '')
  for (const each of imports) {
    if (each.kind === 'import-statement') await load(new URL(each.path, 'http://stead').pathname, files, loaded)
  }
}

test.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['identity', null],
])('GET /assets/…: 200 for accept-encoding %s in %p, the same script each time', async (accepted, encoding) => {
  const files = openDashboard()
  const path = [...files.keys()].find((name) => name.endsWith('.js')) ?? ''
  const response = await dashboardWeb(files).request(path, { headers: { 'accept-encoding': accepted } })
  expect([response.status, response.headers.get('content-encoding')]).toEqual([200, encoding])
  expect(response.headers.get('vary')).toContain('accept-encoding')
  const bytes = new Uint8Array(await response.arrayBuffer())
  const text = new TextDecoder().decode(
    encoding === 'br' ? brotliDecompressSync(bytes) : encoding ? Bun.gunzipSync(bytes) : bytes,
  )
  expect(text).toBe((await files.get(path)?.text()) ?? '')
})

test('GET /assets/….br: 404, because the compressed form has no URL', async () => {
  const files = openDashboard()
  const path = [...files.keys()].find((name) => name.endsWith('.js.br')) ?? ''
  expect(path).not.toBe('')
  expect((await dashboardWeb(files).request(path)).status).toBe(404)
})

test('GET /assets/source-sans-3-…: 200 for the font of all pages, preloaded, at most 35 kB, with immutable caching', async () => {
  const files = openDashboard()
  const path = [...files.keys()].find((name) => name.endsWith('.woff2')) ?? ''
  const pages = [...files.keys()].filter((name) => name.endsWith('.html'))
  expect(pages.length).toBeGreaterThan(1)
  for (const page of pages) {
    expect(await files.get(page)?.text()).toContain(`<link rel="preload" href="${path}" as="font"`)
  }
  const response = await dashboardWeb(files).request(path, { headers: { 'accept-encoding': 'gzip, br' } })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('font/woff2')
  expect(response.headers.get('content-encoding')).toBeNull()
  expect(response.headers.get('cache-control')).toContain('immutable')
  expect((await response.arrayBuffer()).byteLength).toBeLessThanOrEqual(35_000)
})
