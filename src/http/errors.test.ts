import { describe, expect, test } from 'bun:test'
import { HTTPException } from 'hono/http-exception'
import { testApp } from '../../tests/harness/http.ts'
import { AppError, type ErrorKind } from '../core/errors.ts'

const KINDS: [ErrorKind, number][] = [
  ['invalid', 400],
  ['unauthenticated', 401],
  ['payment_required', 402],
  ['forbidden', 403],
  ['not_found', 404],
  ['conflict', 409],
  ['too_slow', 408],
  ['too_large', 413],
  ['limited', 429],
  ['storage_full', 507],
  ['misconfigured', 500],
  ['internal', 500],
  ['upstream_failed', 502],
  ['unavailable', 503],
  ['upstream_timeout', 504],
]

test.each(KINDS)('an AppError of the kind %s: %i with its message and its extra fields', async (kind, status) => {
  const { request } = throwing(new AppError(kind, 'What the caller may know', { current: 1, limit: 2 }))
  const response = await request('/throw')
  expect(response.status).toBe(status)
  expect(await response.json()).toEqual({ error: 'What the caller may know', current: 1, limit: 2 })
})

test('an unknown route: 404 in the same format for any method', async () => {
  const { request } = throwing(new Error('never thrown'))
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    const response = await request('/unknown', { method })
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Not found' })
  }
})

describe('an unexpected error', () => {
  const foreign = () =>
    new Error('SQLITE_CONSTRAINT: UNIQUE users.email /srv/stead', { cause: new Error('the reason beneath') })

  test('is reported only as an internal error', async () => {
    const { request } = throwing(foreign())
    const response = await request('/throw')
    expect(response.status).toBe(500)
    expect(await response.text()).toBe('{"error":"Internal error"}')
  })

  test('is logged with stack, cause and the request id of the response', async () => {
    const { request, lines } = throwing(foreign())
    const response = await request('/throw')
    const line = lines.find(({ level }) => level === 50)
    expect(line).toMatchObject({ method: 'GET', path: '/throw', requestId: response.headers.get('x-request-id') ?? '' })
    expect(line?.error).toContain('UNIQUE users.email')
    expect(line?.error).toContain('errors.test.ts')
    expect(line?.error).toContain('the reason beneath')
  })

  test('is an internal error when no Error is thrown', async () => {
    const { request } = testApp((app) =>
      app.get('/throw', () => Promise.reject(new TypeError('undefined is not a function'))),
    )
    expect(await (await request('/throw')).json()).toEqual({ error: 'Internal error' })
  })
})

test('errors of the caller are not logged as errors', async () => {
  const { request, lines } = throwing(new AppError('not_found', 'No such agent'))
  await request('/throw')
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
})

test('errors of Hono have our format', async () => {
  const large = throwing(new HTTPException(413, { message: 'Payload Too Large' }))
  expect(await (await large.request('/throw')).json()).toEqual({ error: 'Request body too large' })
  const other = throwing(new HTTPException(418, { message: 'secret kettle' }))
  const response = await other.request('/throw')
  expect([response.status, await response.json()]).toEqual([500, { error: 'Internal error' }])
})

describe('every response', () => {
  const HEADERS = {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'strict-origin-when-cross-origin',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  }

  test.each(['/ok', '/throw', '/unknown'])('%s has the security headers and a request id', async (path) => {
    const { request } = throwing(new Error('any'))
    const headers = Object.fromEntries((await request(path)).headers)
    expect(headers).toMatchObject({ ...HEADERS, 'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(headers).not.toHaveProperty('strict-transport-security')
  })

  test('has strict-transport-security over HTTPS', async () => {
    const { request } = testApp((app) => app.get('/ok', (c) => c.text('ok')), { isHttps: true })
    expect((await request('/ok')).headers.get('strict-transport-security')).toContain('max-age=31536000')
  })

  test.each([
    ['0123456789abcdef', true],
    ['01234567', true],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['short', false],
    ['with spaces in it', false],
    ['<script>alert(1)</script>', false],
  ])('keeps the caller’s request id %j: %p', async (id, isKept) => {
    const { request } = throwing(new Error('any'))
    const response = await request('/ok', { headers: { 'x-request-id': id } })
    expect(response.headers.get('x-request-id') === id).toBe(isKept)
  })
})

function throwing(error: Error) {
  return testApp((app) => {
    app.get('/throw', () => {
      throw error
    })
    app.get('/ok', (c) => c.text('ok'))
  })
}
