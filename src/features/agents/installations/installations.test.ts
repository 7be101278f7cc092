import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { VERSION } from '../../../core/version.ts'
import { CreatedKey } from '../../accounts/keys/schemas.ts'
import { BackendAddress, Installations } from './schemas.ts'
import { markSilent } from './service.ts'
import { installations } from './tables.ts'

const operator = bearer(INTERNAL_KEY)
const MINUTE_MS = 60_000

/** Creates a platform with a user with a key, and the operator's view of it. */
async function openTest(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment })
  const ada = await test.signIn()
  const keyOf = async (cookie: Record<string, string>, scopes: string[] = []) =>
    (await read(CreatedKey, test.web.request('/api/keys', json('POST', { name: 'home', scopes }, cookie)))).key
  return {
    ...test,
    ada: { ...ada, key: await keyOf(ada.cookie) },
    keyOf,
    post: (path: string, body: unknown, headers: Record<string, string> = operator) =>
      test.backend.request(path, json('POST', body, headers)),
    list: async () =>
      (await read(Installations, test.backend.request('/api/installations', { headers: operator }))).installations,
  }
}

test.each([
  ['/api/register-home', 'Home installation registered', 'home'],
  ['/api/register-link', 'OpenClaw instance linked', 'link'],
] as const)(
  'POST %s: 200 with the key of the user or the operator’s, and the machine is listed',
  async (path, message, mode) => {
    const { post, list, ada, clock } = await openTest()
    for (const headers of [operator, bearer(ada.key)]) {
      const response = await post(path, { userId: ada.user.id, gatewayToken: 'gw_secret' }, headers)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ success: true, message, dashboardUrl: 'http://localhost:3000/dashboard' })
    }
    const now = clock.now().toISOString()
    const shown = { userId: ada.user.id, name: '', mode, gatewayUrl: null, registeredAt: now, lastSeen: now }
    const tunnel = { state: 'none' as const, since: null, latencyMs: null }
    const unconnected = { agentId: null, version: null, platformVersion: VERSION, versionProblem: null, tunnel }
    expect(await list()).toEqual([{ id: expect.stringMatching(/^ins_/), ...shown, ...unconnected, status: 'active' }])
  },
)

test('POST /api/register-link: 200 ignores mode, which POST /api/register-home stores', async () => {
  const { post, list, ada } = await openTest()
  await post('/api/register-link', { userId: ada.user.id, mode: 'cloud' })
  expect((await list()).map(({ mode }) => mode)).toEqual(['link'])
  await post('/api/register-home', { userId: ada.user.id, mode: 'cloud' })
  expect((await list()).map(({ mode }) => mode)).toEqual(['cloud'])
})

test('POST /api/register-home: 200 updates the row when the name is repeated, and adds one for another name', async () => {
  const { post, list, ada, clock } = await openTest()
  await Promise.all(
    Array.from({ length: 20 }, () => post('/api/register-home', { userId: ada.user.id, name: 'attic' })),
  )
  const [first] = await list()
  clock.advance(MINUTE_MS)
  await post('/api/register-home', { userId: ada.user.id, name: 'attic', gatewayUrl: 'http://192.168.1.7:18789' })
  await post('/api/register-link', { userId: ada.user.id, name: 'office' })
  const rows = await list()
  expect(rows.map(({ name, mode }) => [name, mode])).toEqual([
    ['attic', 'home'],
    ['office', 'link'],
  ])
  expect(rows[0]).toMatchObject({
    id: first?.id,
    registeredAt: first?.registeredAt,
    lastSeen: clock.now().toISOString(),
    gatewayUrl: 'http://192.168.1.7:18789',
  })
})

test('POST /api/register-link: 200 stores the gateway URL without credentials', async () => {
  const { post, list, ada } = await openTest()
  for (const route of ['/api/register-home', '/api/register-link']) {
    const gatewayUrl = 'http://ada:geheim@192.168.1.7:18789/x'
    expect((await post(route, { userId: ada.user.id, name: route, gatewayUrl })).status).toBe(200)
  }
  expect((await list()).map(({ gatewayUrl }) => gatewayUrl)).toEqual(Array(2).fill('http://192.168.1.7:18789/x'))
})

test('POST /api/register-link: 200 stores the gateway token encrypted and never returns it', async () => {
  const { post, platform, web, ada } = await openTest()
  await post('/api/register-home', { userId: ada.user.id, gatewayToken: 'gw_very-secret' })
  const row = platform.db.select().from(installations).get()
  expect(row?.gatewayToken).not.toContain('very-secret')
  expect(platform.sealer.unseal(row?.gatewayToken ?? '', `installations:gatewayToken:${row?.id}`)).toBe(
    'gw_very-secret',
  )
  const shown = await (await web.request('/api/installations', { headers: ada.cookie })).text()
  expect(shown).not.toContain('secret')
  expect(shown).not.toContain(row?.gatewayToken ?? '')
})

test('POST /api/register-home: 200 when the operator registers a user without an account', async () => {
  const { post, list, web, ada } = await openTest()
  expect((await post('/api/register-home', { userId: 'user-of-elsewhere' })).status).toBe(200)
  expect((await list()).map(({ userId }) => userId)).toEqual(['user-of-elsewhere'])
  expect(await (await web.request('/api/installations', { headers: ada.cookie })).json()).toEqual({
    success: true,
    count: 0,
    installations: [],
  })
})

test.each([
  [{}, 'userId required'],
  [{ userId: '' }, 'userId required'],
  [{ userId: 7 }, 'userId required'],
  [{ userId: 'x'.repeat(201) }, 'userId is too long'],
  [{ userId: 'a', mode: 'moon' }, 'mode must be one of home, link, cloud'],
  [{ userId: 'a', gatewayUrl: 'javascript:1' }, 'gatewayUrl must be an http or https URL'],
  [{ userId: 'a', gatewayToken: 5 }, 'gatewayToken must be text'],
  [{ userId: 'a', name: 'x'.repeat(65) }, 'name is too long (max 64 chars)'],
])('POST /api/register-home: 400 when the body is %j, and nothing is stored', async (body, error) => {
  const { post, list } = await openTest()
  const response = await post('/api/register-home', body)
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ success: false, error })
  expect(await list()).toEqual([])
})

test.each(['/api/register-home', '/api/register-link'])(
  'POST %s: 401 and 403 for invalid credentials',
  async (path) => {
    const { post, list, ada, signIn, keyOf } = await openTest()
    const eve = await signIn('eve@example.com')
    const request = { userId: ada.user.id }
    const statusOf = async (headers: Record<string, string>) => (await post(path, request, headers)).status
    expect(await statusOf({})).toBe(401)
    expect(await statusOf(ada.cookie)).toBe(401)
    expect(await statusOf(bearer(`sk_${'a'.repeat(43)}`))).toBe(401)
    expect(await statusOf(bearer('wrong'))).toBe(403)
    expect(await statusOf(bearer(await keyOf(eve.cookie)))).toBe(403)
    expect(await statusOf(bearer(await keyOf(ada.cookie, ['read'])))).toBe(403)
    expect(await list()).toEqual([])
    expect(await statusOf(bearer(await keyOf(ada.cookie, ['agents'])))).toBe(200)
  },
)

test('POST /api/register-home: 200 with a user’s key when no internal key is set', async () => {
  const { post, ada } = await openTest({ INTERNAL_API_KEY: '' })
  expect((await post('/api/register-home', { userId: ada.user.id }, bearer(ada.key))).status).toBe(200)
  expect((await post('/api/register-home', { userId: ada.user.id })).status).toBe(500)
})

test('POST /api/register-home: 429 when the user has 50 machines', async () => {
  const { post, ada } = await openTest()
  const registerNamed = (name: string) => post('/api/register-home', { userId: ada.user.id, name })
  for (let count = 0; count < 50; count++) expect((await registerNamed(`m${count}`)).status).toBe(200)
  expect((await registerNamed('one more')).status).toBe(429)
  expect((await registerNamed('m7')).status).toBe(200)
})

test('POST /api/heartbeat: 200 for known, unknown and missing users', async () => {
  const { backend, post, list, ada, clock } = await openTest()
  await post('/api/register-home', { userId: ada.user.id, name: 'attic' })
  clock.advance(MINUTE_MS)
  const timestamp = clock.now().toISOString()
  for (const body of [{ userId: 'usr_unknown' }, {}, { userId: ada.user.id, name: 'cellar' }]) {
    expect(await (await post('/api/heartbeat', body, {})).json()).toEqual({ success: true, timestamp })
  }
  expect(await (await backend.request('/api/heartbeat', { method: 'POST' })).json()).toEqual({
    success: true,
    timestamp,
  })
  expect((await list())[0]?.lastSeen).not.toBe(timestamp)
  for (const body of [{ userId: ada.user.id, name: 'attic' }, { userId: ada.user.id }]) {
    clock.advance(MINUTE_MS)
    const response = await post('/api/heartbeat', body, {})
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ success: true, timestamp: clock.now().toISOString() })
    expect(await list()).toMatchObject([{ lastSeen: clock.now().toISOString(), status: 'active' }])
  }
})

test.each([
  ['{"userId":5}', 'userId must be text'],
  ['{', 'Malformed JSON in request body'],
])('POST /api/heartbeat: 400 when the body has %s', async (body, error) => {
  const { backend } = await openTest()
  const headers = { 'content-type': 'application/json' }
  const response = await backend.request('/api/heartbeat', { method: 'POST', headers, body })
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
})

test('POST /api/heartbeat: 429 with RateLimit headers when the general limit is exceeded', async () => {
  const { backend, ada } = await openTest({ RATE_LIMIT_BACKEND: '2' })
  const beat = () => backend.request('/api/heartbeat', json('POST', { userId: ada.user.id }))
  expect([(await beat()).status, (await beat()).status]).toEqual([200, 200])
  const refused = await beat()
  expect(refused.status).toBe(429)
  expect(refused.headers.get('ratelimit-remaining')).toBe('0')
})

test('markSilent logs a machine once after 15 minutes; a heartbeat marks it active again', async () => {
  const { post, list, ada, clock, platform, logLines } = await openTest()
  await post('/api/register-home', { userId: ada.user.id, name: 'cellar' })
  clock.advance(1)
  await post('/api/register-home', { userId: ada.user.id, name: 'attic' })
  const statuses = async () => {
    await markSilent(platform)
    return (await list()).map(({ status }) => status)
  }
  clock.advance(10 * MINUTE_MS)
  await post('/api/heartbeat', { userId: ada.user.id, name: 'cellar' })
  clock.advance(5 * MINUTE_MS)
  expect(await statuses()).toEqual(['active', 'active'])
  clock.advance(1)
  expect(await statuses()).toEqual(['active', 'inactive'])
  expect(await statuses()).toEqual(['active', 'inactive'])
  expect(logLines.filter((line) => line.includes('fell silent'))).toHaveLength(1)
  await post('/api/heartbeat', { userId: ada.user.id, name: 'attic' })
  expect(await statuses()).toEqual(['active', 'active'])
})

test('GET /api/installations and DELETE /api/installations/:id: 200 for own machines, 404 for a stranger’s', async () => {
  const { post, web, list, ada, signIn } = await openTest()
  const eve = await signIn('eve@example.com')
  await post('/api/register-home', { userId: ada.user.id })
  await post('/api/register-home', { userId: eve.user.id })
  const seen = (headers: Record<string, string>) => read(Installations, web.request('/api/installations', { headers }))
  const own = await seen(ada.cookie)
  expect(own).toMatchObject({ success: true, count: 1, installations: [{ userId: ada.user.id }] })
  expect(await seen(bearer(ada.key))).toEqual(own)

  const remove = (headers: Record<string, string>, id = own.installations[0]?.id) =>
    web.request(`/api/installations/${id}`, { method: 'DELETE', headers })
  for (const response of [await remove(eve.cookie), await remove(ada.cookie, 'ins_missing')]) {
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Installation not found' })
  }
  expect((await remove({})).status).toBe(401)
  expect(await list()).toHaveLength(2)
  expect(await (await remove(ada.cookie)).json()).toEqual({ success: true })
  expect((await list()).map(({ userId }) => userId)).toEqual([eve.user.id])
})

test('GET /api/installations in the backend API: 200 with the internal key, all machines or one user’s; 401 and 403 otherwise', async () => {
  const { backend, post, ada } = await openTest()
  await post('/api/register-home', { userId: ada.user.id })
  await post('/api/register-home', { userId: 'somebody' })
  const ask = (headers: Record<string, string>) => backend.request('/api/installations', { headers })
  expect((await ask({})).status).toBe(401)
  expect((await ask(bearer('wrong'))).status).toBe(403)
  expect((await ask(bearer(ada.key))).status).toBe(403)
  expect((await read(Installations, ask(operator))).count).toBe(2)
  expect((await read(Installations, ask({ ...operator, 'x-user-id': ada.user.id }))).count).toBe(1)
})

test("DELETE /api/user: 200 deletes the account's machines", async () => {
  const { post, web, platform, ada } = await openTest()
  await post('/api/register-home', { userId: ada.user.id })
  const rows = () => platform.db.select().from(installations).where(eq(installations.userId, ada.user.id)).all()
  expect(rows()).toHaveLength(1)
  const response = await web.request('/api/settings/account', json('DELETE', { confirm: ada.user.email }, ada.cookie))
  expect(response.status).toBe(200)
  expect(rows()).toEqual([])
})

test("GET /api/installations/address: 200 with the backend's port when signed in", async () => {
  const { web, ada } = await openTest({ BACKEND_PORT: '4321' })
  const address = web.request('/api/installations/address', { headers: ada.cookie })
  expect(await read(BackendAddress, address)).toEqual({ port: 4321 })
  expect((await web.request('/api/installations/address')).status).toBe(401)
})
