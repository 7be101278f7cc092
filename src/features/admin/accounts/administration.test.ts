import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { AuditList } from '../../accounts/audit/schemas.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { sessions, users } from '../../accounts/users/tables.ts'
import { insertAgent, openTokens } from '../../agents/registry/agents.ts'
import { CLI } from './change-account.ts'
import { resetPassword } from './create-account.ts'
import { AdminUserDetail, AdminUserList } from './schemas.ts'

const ADMIN = 'root@example.com'

/** An admin, and Ada whom he administers. */
async function installation(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment: { ADMIN_EMAILS: ADMIN, ...environment } })
  const admin = await test.signIn(ADMIN)
  const ada = await test.signIn('ada@example.com')
  const callerOf = (person: { cookie: Record<string, string> }) => ({
    get: (path: string) => test.web.request(path, { headers: person.cookie }),
    patch: (path: string, body: unknown) => test.web.request(path, json('PATCH', body, person.cookie)),
    delete: (path: string) => test.web.request(path, { method: 'DELETE', headers: person.cookie }),
  })
  return {
    ...test,
    admin,
    ada,
    callerOf,
    root: callerOf(admin),
    row: (id = ada.user.id) => test.platform.db.select().from(users).where(eq(users.id, id)).get(),
    audit: () => test.platform.db.select().from(auditLog).all(),
  }
}

const ROUTES: [method: 'GET' | 'PATCH' | 'DELETE', path: (id: string) => string][] = [
  ['GET', () => '/api/admin/users'],
  ['GET', (id) => `/api/admin/users/${id}`],
  ['PATCH', (id) => `/api/admin/users/${id}`],
  ['DELETE', (id) => `/api/admin/users/${id}/sessions`],
  ['GET', () => '/api/admin/audit'],
]

test.each(ROUTES)(
  '%s /api/admin/… (%#): 401 without a session or with a key, 403 ADMIN_REQUIRED for other users',
  async (method, path) => {
    const { web, platform, clock, ada, admin, audit } = await installation()
    const ask = (headers: Record<string, string>) =>
      web.request(path(ada.user.id), method === 'PATCH' ? json('PATCH', { credits: 1 }, headers) : { method, headers })
    const { key } = await createKey({ db: platform.db, clock }, admin.user.id, { name: 'k' })
    for (const headers of [{}, bearer(key), { 'x-user-email': ADMIN, 'x-user-role': 'admin' }]) {
      expect((await ask(headers)).status).toBe(401)
    }
    for (const headers of [ada.cookie, { ...ada.cookie, 'x-user-email': ADMIN, 'x-user-role': 'admin' }]) {
      const response = await ask(headers)
      expect(response.status).toBe(403)
      expect(await response.json()).toEqual({ error: 'Admin access required.', code: 'ADMIN_REQUIRED' })
    }
    expect(audit()).toEqual([])
  },
)

test('GET /api/admin/users: 403 when the administrator’s address is unverified and a mail server is set', async () => {
  const { root, platform, admin } = await installation({ SMTP_URL: 'smtp://127.0.0.1:1' })
  expect((await root.get('/api/admin/users')).status).toBe(403)
  await write(platform.db, (tx) =>
    tx.update(users).set({ emailVerifiedAt: new Date() }).where(eq(users.id, admin.user.id)).run(),
  )
  expect((await root.get('/api/admin/users')).status).toBe(200)
})

test('GET /api/admin/users: 200 newest first, in pages without gaps and repetitions', async () => {
  const { root, signIn, clock } = await installation()
  for (let count = 0; count < 7; count++) {
    if (count % 2 === 0) clock.advance(1000)
    await signIn(`user-${count}@example.com`)
  }
  const seen: string[] = []
  let after: string | null = null
  do {
    const query: string = after === null ? '' : `&after=${after}`
    const page: { users: { email: string }[]; next: string | null } = await read(
      AdminUserList,
      root.get(`/api/admin/users?limit=2${query}`),
    )
    expect(page.users.length).toBeLessThanOrEqual(2)
    seen.push(...page.users.map(({ email }) => email))
    after = page.next
  } while (after)
  expect(seen).toHaveLength(9)
  expect(new Set(seen).size).toBe(9)
  expect(new Set(seen.slice(-2))).toEqual(new Set([ADMIN, 'ada@example.com']))
})

test('GET /api/admin/users?search=: 200 with matching parts of addresses and names; wildcards are literal', async () => {
  const { root } = await installation()
  const find = async (search: string) =>
    (await read(AdminUserList, root.get(`/api/admin/users?search=${encodeURIComponent(search)}`))).users.map(
      ({ email }) => email,
    )
  expect(await find('ADA@')).toEqual(['ada@example.com'])
  expect(await find('%')).toEqual([])
  expect(await find("' OR 1=1 --")).toEqual([])
  expect(await find('example')).toHaveLength(2)
})

test.each(['limit=0', 'limit=201', 'limit=x', 'after=usr_missing'])('GET /api/admin/users?%s: 400', async (query) => {
  expect((await (await installation()).root.get(`/api/admin/users?${query}`)).status).toBe(400)
})

test('GET /api/admin/users/:id: 200 with the account’s data and no secret; 404 for a missing account', async () => {
  const { root, ada, platform, clock } = await installation()
  await createKey({ db: platform.db, clock }, ada.user.id, { name: 'k' })
  await write(platform.db, (tx) =>
    tx
      .update(users)
      .set({ passwordHash: 'the-hash', twoFactorSecret: 'the-secret' })
      .where(eq(users.id, ada.user.id))
      .run(),
  )
  const text = await (await root.get(`/api/admin/users/${ada.user.id}`)).text()
  expect(text).not.toMatch(/the-hash|the-secret/)
  const { user } = JSON.parse(text)
  expect(AdminUserDetail.strict().parse(user)).toMatchObject({
    id: ada.user.id,
    email: 'ada@example.com',
    plan: 'free',
    isAdmin: false,
    disabled: false,
    hasPassword: true,
    sessions: 1,
    apiKeys: 1,
    agents: 0,
    identities: [],
  })
  const missing = await root.get('/api/admin/users/usr_missing')
  expect([missing.status, await missing.json()]).toEqual([404, { error: 'User not found' }])
})

test('PATCH /api/admin/users/:id: 200 changes the account and adds one audit entry with old and new values', async () => {
  const { root, ada, row, audit, admin } = await installation()
  const response = await root.patch(`/api/admin/users/${ada.user.id}`, {
    plan: 'label',
    credits: 12,
    emailVerified: true,
    isAdmin: true,
    passwordHash: 'x',
  })
  expect(await response.json()).toMatchObject({ user: { plan: 'label', subscriptionStatus: 'active', credits: 12 } })
  expect(row()).toMatchObject({ plan: 'label', subscriptionStatus: 'active', credits: 12, passwordHash: null })
  expect(audit()).toMatchObject([
    {
      actor: admin.user.id,
      action: 'account.change',
      target: ada.user.id,
      address: '203.0.113.7',
      detail: {
        plan: ['free', 'label'],
        subscriptionStatus: ['inactive', 'active'],
        credits: [0, 12],
        emailVerified: [false, true],
      },
    },
  ])
})

test.each([
  [
    { plan: 'solo', subscriptionStatus: 'past_due' },
    { plan: 'solo', subscriptionStatus: 'past_due' },
  ],
  [{ plan: 'free' }, { plan: 'free', subscriptionStatus: 'inactive' }],
  [{ subscriptionStatus: 'active' }, { plan: 'free', subscriptionStatus: 'active' }],
])('PATCH /api/admin/users/:id: when the body is %j, 200 with %j', async (change, expected) => {
  const { root, ada, row } = await installation()
  expect((await root.patch(`/api/admin/users/${ada.user.id}`, change)).status).toBe(200)
  expect(row()).toMatchObject(expected)
})

test.each([
  [{}, 'Nothing to change'],
  [{ isAdmin: true }, 'Nothing to change'],
  [{ plan: 'gold' }, 'plan must be free, solo, collective, label, network'],
  [{ credits: -1 }, 'credits must not be negative'],
  [{ credits: 1.5 }, 'credits must be a whole number'],
  [{ disabled: 'yes' }, 'disabled must be true or false'],
])('PATCH /api/admin/users/:id: 400 when the body is %j, without an audit entry', async (body, error) => {
  const { root, ada, audit } = await installation()
  const response = await root.patch(`/api/admin/users/${ada.user.id}`, body)
  expect([response.status, await response.json()]).toEqual([400, { error }])
  expect(audit()).toEqual([])
})

test('PATCH /api/admin/users/:id: 404 when the account is missing, without an audit entry', async () => {
  const { root, audit } = await installation()
  expect((await root.patch('/api/admin/users/usr_missing', { credits: 1 })).status).toBe(404)
  expect(audit()).toEqual([])
})

test('PATCH /api/admin/users/:id: 200 with disabled ends session, key and agent’s token; the last two return when enabled', async () => {
  const { root, ada, platform, clock, web, backend } = await installation()
  await root.patch(`/api/admin/users/${ada.user.id}`, { plan: 'solo' })
  const { key } = await createKey({ db: platform.db, clock }, ada.user.id, { name: 'k' })
  const agent = await write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, {
      ownerId: ada.user.id,
      name: 'Ada',
      model: 'openai/gpt-4o-mini',
      plan: 'solo',
      aiProvider: 'openrouter',
      status: 'running',
    }),
  )
  const token = openTokens(platform.sealer, agent).accessToken
  const statuses = async () => [
    (await web.request('/api/agents/provision', { headers: ada.cookie })).status,
    (await web.request('/api/agents/provision', { headers: bearer(key) })).status,
    (await backend.request('/api/validate-key', { method: 'POST', headers: bearer(key) })).status,
    (await backend.request('/v1/models', { headers: bearer(token) })).status,
  ]
  expect(await statuses()).toEqual([200, 200, 200, 200])
  await root.patch(`/api/admin/users/${ada.user.id}`, { disabled: true })
  expect(await statuses()).toEqual([401, 401, 401, 429])
  await root.patch(`/api/admin/users/${ada.user.id}`, { disabled: false })
  expect(await statuses()).toEqual([401, 200, 200, 200])
})

test('PATCH /api/admin/users/:id: 400 when administrators disable their own account', async () => {
  const { root, admin, row, audit } = await installation()
  const response = await root.patch(`/api/admin/users/${admin.user.id}`, { disabled: true })
  expect([response.status, await response.json()]).toEqual([400, { error: 'You cannot disable your own account' }])
  expect(row(admin.user.id)?.disabledAt).toBeNull()
  expect(audit()).toEqual([])
  expect((await root.patch(`/api/admin/users/${admin.user.id}`, { credits: 3 })).status).toBe(200)
})

test('DELETE /api/admin/users/:id/sessions: 200 ends all sessions of that user only', async () => {
  const { root, ada, platform, audit } = await installation()
  await platform.sessions.create(ada.user.id)
  const response = await root.delete(`/api/admin/users/${ada.user.id}/sessions`)
  expect(await response.json()).toEqual({ success: true, ended: 2 })
  expect(platform.db.select().from(sessions).all()).toHaveLength(1)
  expect(audit()).toMatchObject([{ action: 'account.end-sessions', target: ada.user.id, detail: { ended: 2 } }])
  expect((await root.delete('/api/admin/users/usr_missing/sessions')).status).toBe(404)
})

test('GET /api/admin/audit: 200, newest first, by pages', async () => {
  const { root, ada } = await installation()
  for (const credits of [1, 2, 3]) await root.patch(`/api/admin/users/${ada.user.id}`, { credits })
  const first = await read(AuditList, root.get('/api/admin/audit?limit=2'))
  expect(first.entries.map(({ detail }) => detail)).toEqual([{ credits: [2, 3] }, { credits: [1, 2] }])
  const second = await read(AuditList, root.get(`/api/admin/audit?limit=2&before=${first.next}`))
  expect(second.entries.map(({ detail }) => detail)).toEqual([{ credits: [0, 1] }])
  expect(second.next).toBeNull()
})

test('stead user reset-password: sets a password that works at once, also after failed attempts', async () => {
  const { web, platform } = await installation()
  const account = { email: 'eve@example.com', password: 'correct horse' }
  const login = (password: string) => web.request('/api/auth/login', json('POST', { ...account, password }))
  await web.request('/api/register', json('POST', account))
  for (let count = 0; count < 10; count++) await login('wrong horse')
  expect((await login(account.password)).status).toBe(429)
  await resetPassword(platform, CLI, { email: account.email, password: 'another horse' })
  expect((await login('another horse')).status).toBe(200)
})
