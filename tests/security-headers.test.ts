import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { ApiName } from '../src/http/env.ts'
import { INTERNAL_KEY, testPlatform } from './harness/platform.ts'
import { bearer } from './harness/requests.ts'

type Route = { method: string; path: string; api: ApiName; guard: string }

/** Headers of every response, whatever its status. */
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cache-control': 'no-store',
}
const EVIL_ORIGINS = [
  'https://evil.example',
  'null',
  'http://localhost:3000.evil.example',
  'https://app.example.com.evil',
  'http://localhost:3000',
]

/** Every route of `endpoints.txt`, with values for its parameters. */
const ROUTES = (await Bun.file(join(import.meta.dir, 'endpoints.txt')).text())
  .trim()
  .split('\n')
  .map((line): Route => {
    const [method = '', path = '', api = '', guard = ''] = line.split(' ')
    const filled = path.replace(/:\w+/g, 'something').replace('*', 'something')
    return { method: method === 'ALL' ? 'GET' : method, path: filled, api: apiNamed(api), guard }
  })

test('every route: security headers and no Access-Control header, authenticated or not', async () => {
  const { web, backend, summarizer, signIn } = testPlatform({ environment: { ADMIN_EMAILS: 'ada@example.com' } })
  const apis = { web, backend, summarizer }
  expect(ROUTES.length).toBeGreaterThan(40)
  for (const { method, path, api } of ROUTES) {
    const { cookie } = await signIn(`${crypto.randomUUID()}@example.com`)
    for (const credentials of [{}, api === 'backend' ? bearer(INTERNAL_KEY) : cookie]) {
      const headers = { ...credentials, 'content-type': 'application/json', origin: 'http://localhost:3000' }
      const response = await apis[api].request(path, { method, headers, ...(method !== 'GET' && { body: '{}' }) })
      const shown = Object.fromEntries(Object.keys(HEADERS).map((name) => [name, response.headers.get(name)]))
      expect({ method, path, ...shown }).toEqual({ method, path, ...HEADERS })
      expect(response.headers.get('x-request-id')).toBeTruthy()
      expect(corsHeaders(response)).toEqual([])
    }
  }
})

test('every route: no CORS origin is allowed, in requests and preflights', async () => {
  const { web, backend, summarizer, signIn } = testPlatform()
  const apis = { web, backend, summarizer }
  const { cookie } = await signIn()
  for (const { method, path, api } of ROUTES) {
    for (const origin of EVIL_ORIGINS) {
      const preflight = await apis[api].request(path, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': method,
          'access-control-request-headers': 'authorization,content-type',
        },
      })
      expect([path, origin, corsHeaders(preflight), preflight.ok]).toEqual([path, origin, [], false])
    }
    const answer = await apis[api].request(path, { headers: { ...cookie, origin: 'https://evil.example' } })
    expect([path, corsHeaders(answer)]).toEqual([path, []])
  }
})

function corsHeaders(response: Response): string[] {
  return [...response.headers.keys()].filter((name) => name.startsWith('access-control-'))
}

function apiNamed(name: string): ApiName {
  if (name === 'web' || name === 'backend' || name === 'summarizer') return name
  throw new Error(`endpoints.txt names no API: ${name}`)
}
