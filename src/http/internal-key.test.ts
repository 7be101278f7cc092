import { describe, expect, test } from 'bun:test'
import { testApp } from '../../tests/harness/http.ts'
import type { SignedInUser } from './env.ts'
import { readBearer, requireInternalKey } from './internal-key.ts'

const KEY = 'an-internal-key-of-thirty-two-ch'
const ADA: SignedInUser = {
  id: 'usr_1',
  email: 'ada@example.com',
  name: 'Ada',
  isAdmin: false,
  plan: 'free',
  subscriptionId: null,
}

describe('the bearer of the backend API', () => {
  const OUTCOMES: [name: string, authorization: string | undefined, status: number, error: string][] = [
    ['no header', undefined, 401, 'Unauthorized'],
    ['an empty header', '', 401, 'Unauthorized'],
    ['the key alone', KEY, 401, 'Unauthorized'],
    ['another scheme', `Basic ${KEY}`, 401, 'Unauthorized'],
    ['lower case', `bearer ${KEY}`, 401, 'Unauthorized'],
    ['upper case', `BEARER ${KEY}`, 401, 'Unauthorized'],
    ['no space', `Bearer${KEY}`, 401, 'Unauthorized'],
    ['nothing after the prefix', 'Bearer ', 401, 'Unauthorized'],
    ['another key', `Bearer ${'x'.repeat(32)}`, 403, 'Forbidden'],
    ['the key with one letter more', `Bearer ${KEY}x`, 403, 'Forbidden'],
    ['the key with one letter less', `Bearer ${KEY.slice(0, -1)}`, 403, 'Forbidden'],
    ['the key in another case', `Bearer ${KEY.toUpperCase()}`, 403, 'Forbidden'],
    ['bytes that are not ASCII', `Bearer schlüssel-ÿ${KEY}`, 403, 'Forbidden'],
    ['two keys', `Bearer ${KEY}, Bearer ${KEY}`, 403, 'Forbidden'],
  ]
  test.each(OUTCOMES)('%s → %3$i', async (_name, authorization, status, error) => {
    const response = await backend(KEY).request(
      '/who',
      authorization === undefined ? {} : { headers: { authorization } },
    )
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ error })
  })

  test('is compared without an error at any length from 1 to 4096', async () => {
    const { request } = backend(KEY)
    for (let length = 1; length <= 4096; length = length < 70 ? length + 1 : length * 2) {
      const token = 'k'.repeat(length)
      expect((await request('/who', { headers: { authorization: `Bearer ${token}` } })).status).toBe(403)
      expect((await backend(token).request('/who', { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
    }
  })

  test('is accepted when it is not ASCII and equals the setting', async () => {
    const key = 'schlüssel-mit-umlauten-ÄÖÜ'
    expect((await backend(key).request('/who', { headers: { authorization: `Bearer ${key}` } })).status).toBe(200)
  })

  test('causes 500 for every external caller when no key is set', async () => {
    for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: 'Bearer undefined' }]) {
      const response = await backend(undefined).request('/who', { headers })
      expect(response.status).toBe(500)
      expect(await response.json()).toEqual({ error: 'Server misconfigured' })
    }
  })
})

describe('the user of a backend request', () => {
  const headers = { authorization: `Bearer ${KEY}` }

  test('is the operator when only the key is sent', async () => {
    expect(await (await backend(KEY).request('/who', { headers })).json()).toEqual({ kind: 'operator' })
  })

  test('is the user of x-user-id, with plan and role from the database', async () => {
    const claims = {
      'x-user-id': 'usr_1',
      'x-user-role': 'admin',
      'x-user-plan': 'network',
      'x-user-email': 'boss@example.com',
    }
    const response = await backend(KEY).request('/who', { headers: { ...headers, ...claims } })
    expect(await response.json()).toEqual({ kind: 'user', user: ADA })
  })

  test('causes 403 when it does not exist', async () => {
    const response = await backend(KEY).request('/who', { headers: { ...headers, 'x-user-id': 'usr_2' } })
    expect(response.status).toBe(403)
  })

  test('is not taken from identity headers without the key', async () => {
    const response = await backend(KEY).request('/who', { headers: { 'x-user-id': 'usr_1', 'x-user-role': 'admin' } })
    expect(response.status).toBe(401)
  })
})

test('readBearer returns what follows the prefix', () => {
  expect(readBearer('Bearer  token ')).toBe('token')
  expect(readBearer('bearer token')).toBeNull()
  expect(readBearer(undefined)).toBeNull()
})

function backend(internalApiKey: string | undefined) {
  return testApp((app) => {
    app.get(
      '/who',
      requireInternalKey(internalApiKey, (id) => (id === ADA.id ? ADA : null)),
      (c) => c.json(c.var.principal),
    )
  })
}
