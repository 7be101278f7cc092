import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { auditLog } from '../audit/tables.ts'
import { users } from '../users/tables.ts'
import { CreatedInvite, InviteList, InviteResponse } from './schemas.ts'
import { invites } from './tables.ts'

const OPERATOR = bearer(INTERNAL_KEY)

/** A platform that takes new users by invitation only. */
function withInvites(environment: Record<string, string> = { SIGN_UP: 'invite' }) {
  const platform = testPlatform({ environment })
  const { web, backend } = platform
  return {
    ...platform,
    generate: (headers: Record<string, string> = OPERATOR) =>
      backend.request('/api/invite/generate', { method: 'POST', headers }),
    invite: async () =>
      (await read(InviteResponse, backend.request('/api/invite/generate', { method: 'POST', headers: OPERATOR }))).code,
    validate: (body: unknown) => backend.request('/api/invite/validate', json('POST', body)),
    register: (inviteCode: unknown, email = 'ada@example.com') =>
      web.request('/api/register', json('POST', { email, password: 'correct horse', inviteCode })),
    isUsed: () =>
      platform.platform.db
        .select()
        .from(invites)
        .all()
        .map(({ usedAt }) => usedAt !== null),
  }
}

test('POST /api/invite/generate: 200 with a code of 80 bits of which only a hash is stored, and an audit entry', async () => {
  const { generate, platform } = withInvites()
  const response = await generate()
  expect(response.status).toBe(200)
  const { code } = await read(InviteResponse, response)
  expect(code).toMatch(/^[0-9a-f]{20}$/)
  expect(dumpTables(platform.db)).not.toContain(code)
  expect(platform.db.select().from(invites).all()).toMatchObject([{ createdBy: 'operator', usedAt: null }])
  expect(platform.db.select().from(auditLog).all()).toMatchObject([{ actor: 'operator', action: 'invite.create' }])
})

test.each<[string, Record<string, string>]>([
  ['no header', {}],
  ['another scheme', { authorization: `Basic ${INTERNAL_KEY}` }],
  ['a wrong key', bearer('wrong')],
  ['a wrong key of the same length', bearer(INTERNAL_KEY.replace(/.$/, 'x'))],
  ['the right key for a user that is not', { ...OPERATOR, 'x-user-id': 'usr_missing' }],
])('POST /api/invite/generate: 401 for %s, and no invitation is created', async (_who, headers) => {
  const { generate, platform } = withInvites()
  const response = await generate(headers)
  expect(response.status).toBe(401)
  expect(await response.json()).toEqual({ error: 'Unauthorized' })
  expect(countRows(platform.db).invites).toBe(0)
})

test('POST /api/invite/generate: 200 when an administrator invites for himself, 403 for another user', async () => {
  const { generate, signIn, platform } = withInvites({ ADMIN_EMAILS: 'ada@example.com' })
  const ada = await signIn('ada@example.com')
  const eve = await signIn('eve@example.com')
  expect((await generate({ ...OPERATOR, 'x-user-id': eve.user.id })).status).toBe(403)
  expect((await generate({ ...OPERATOR, 'x-user-id': ada.user.id })).status).toBe(200)
  expect(platform.db.select().from(invites).all()).toMatchObject([{ createdBy: ada.user.id }])
})

test('POST /api/invite/validate: 200 with true once per code, in upper or lower case', async () => {
  const { invite, validate } = withInvites()
  const code = await invite()
  const first = await validate({ code: code.toUpperCase() })
  expect([first.status, await first.json()]).toEqual([200, { valid: true }])
  const second = await validate({ code })
  expect([second.status, await second.json()]).toEqual([400, { valid: false }])
})

test.each([{}, [[]], 'code', { code: 7 }, { code: null }, { code: '' }, { code: 'abc' }, { code: '0'.repeat(20) }])(
  'POST /api/invite/validate: 400 for %j, and no invitation is used',
  async (body) => {
    const { invite, validate, isUsed } = withInvites()
    await invite()
    const response = await validate(body)
    expect([response.status, await response.json()]).toEqual([400, { valid: false }])
    expect(isUsed()).toEqual([false])
  },
)

test('POST /api/invite/validate: 200 with true once when 200 concurrent requests send one code, fifty times', async () => {
  const { invite, validate, isUsed } = withInvites()
  for (let round = 0; round < 50; round++) {
    const code = await invite()
    const answers = await Promise.all(Array.from({ length: 200 }, () => validate({ code })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(199)
  }
  expect(isUsed()).toEqual(Array.from({ length: 50 }, () => true))
}, 300_000)

test('POST /api/invite/generate: 200 with a new code each time, a thousand times', async () => {
  const { invite, platform } = withInvites()
  const codes = await Promise.all(Array.from({ length: 1000 }, () => invite()))
  expect(new Set(codes.map((code) => code.slice(0, 12))).size).toBe(1000)
  expect(countRows(platform.db).invites).toBe(1000)
})

test('POST /api/invite/generate: 429 when one address exceeds its rate', async () => {
  const { generate } = withInvites({ RATE_LIMIT_BACKEND: '2' })
  expect([(await generate()).status, (await generate()).status, (await generate()).status]).toEqual([200, 200, 429])
})

test('POST /api/invite/validate: 429 when one address exceeds its rate', async () => {
  const { api } = withInvites({ RATE_LIMIT_REGISTER: '2' })
  const ask = async (address: string) =>
    (await api('backend', { address }).request('/api/invite/validate', json('POST', { code: 'x' }))).status
  expect([await ask('203.0.113.1'), await ask('203.0.113.1'), await ask('203.0.113.1')]).toEqual([400, 400, 429])
  expect(await ask('203.0.113.2')).toBe(400)
})

test('POST /api/register: 200 with an invitation, which is then used', async () => {
  const { invite, register, isUsed } = withInvites()
  expect((await register(await invite())).status).toBe(200)
  expect(isUsed()).toEqual([true])
})

test.each([
  [undefined, 403, 'Invite code required'],
  ['', 403, 'Invite code required'],
  ['0'.repeat(20), 403, 'Invalid invite code'],
  ['abc', 403, 'Invalid invite code'],
  [7, 400, 'Invalid invite code'],
])('POST /api/register with the invitation %p: %d before the password is hashed', async (code, status, error) => {
  const { register, invite, isUsed, platform } = withInvites()
  await invite()
  const response = await register(code)
  expect([response.status, await response.json()]).toEqual([status, { error }])
  expect(countRows(platform.db).users).toBe(0)
  expect(isUsed()).toEqual([false])
  expect(platform.passwords.calls).toBe(0)
})

test('POST /api/register with an invitation: 409 when the address is taken, and the invitation stays unused', async () => {
  const { register, invite, isUsed } = withInvites()
  await register(await invite())
  const code = await invite()
  expect((await register(code)).status).toBe(409)
  expect(isUsed().filter(Boolean)).toHaveLength(1)
  expect((await register(code, 'bo@example.com')).status).toBe(200)
})

test('POST /api/register with an invitation: 200 once when 30 concurrent requests send one code', async () => {
  const { register, invite, platform } = withInvites()
  const code = await invite()
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => register(code, `user${n}@example.com`)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(29)
  expect(countRows(platform.db).users).toBe(1)
})

test('POST /api/register: 200 when sign-up is open, without using an invitation', async () => {
  const { register, invite, isUsed } = withInvites({})
  expect((await register(await invite())).status).toBe(200)
  expect(isUsed()).toEqual([false])
})

test.each<[mode: string, defaultPlan: string, plan: string | undefined, given: string]>([
  ['invite', 'free', 'label', 'label'],
  ['invite', 'solo', undefined, 'solo'],
  ['invite', 'solo', 'free', 'free'],
  ['open', 'free', 'label', 'label'],
  ['open', 'solo', undefined, 'solo'],
])(
  'POST /api/admin/invites: 201 with SIGN_UP=%s and DEFAULT_PLAN=%s; an invitation for %p gives the plan %s, once',
  async (mode, defaultPlan, plan, given) => {
    const test = await withAdmin({ SIGN_UP: mode, DEFAULT_PLAN: defaultPlan })
    const { code } = await read(CreatedInvite, test.ask('POST', '', undefined, { plan }))
    expect((await read(InviteList, test.ask('GET'))).invites).toMatchObject([{ plan: plan ?? null }])
    expect((await test.register(code, 'bo@example.com')).status).toBe(200)
    const row = test.platform.db.select().from(users).where(eq(users.email, 'bo@example.com')).get()
    expect(row).toMatchObject({ plan: given, subscriptionStatus: given === 'free' ? 'inactive' : 'active' })
    expect(test.isUsed()).toEqual([true])
  },
)

test('POST /api/admin/invites: 400 when the plan does not exist, and no invitation is created', async () => {
  const { ask, platform } = await withAdmin()
  const response = await ask('POST', '', undefined, { plan: 'gold' })
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: 'Invalid plan. Supported: solo, collective, label, network' },
  ])
  expect(countRows(platform.db).invites).toBe(0)
})

/** An admin, and Ada who is none. */
async function withAdmin(environment: Record<string, string> = { SIGN_UP: 'invite' }) {
  const test = withInvites({ ADMIN_EMAILS: 'root@example.com', APP_URL: 'https://stead.example', ...environment })
  const { cookie } = await test.signIn('root@example.com')
  const ada = await test.signIn('ada@example.com')
  const ask = (method: string, path = '', headers: Record<string, string> = cookie, body: unknown = {}) =>
    test.web.request(`/api/admin/invites${path}`, method === 'POST' ? json('POST', body, headers) : { method, headers })
  return { ...test, ada, ask }
}

test('POST and GET /api/admin/invites: 201 with a single-use code and its URL, 200 with creator and time of use', async () => {
  const { ask, register, platform } = await withAdmin()
  const response = await ask('POST')
  expect(response.status).toBe(201)
  const { code, url } = await read(CreatedInvite, response)
  expect(url).toBe(`https://stead.example/signup?invite=${code}`)
  const before = await read(InviteList, ask('GET'))
  expect(before).toMatchObject({ signUp: 'invite', invites: [{ createdBy: 'root@example.com', usedAt: null }] })
  expect((await register(code, 'bo@example.com')).status).toBe(200)
  const { invites: after } = await read(InviteList, ask('GET'))
  expect(after[0]?.usedAt).not.toBeNull()
  expect(JSON.stringify(after)).not.toContain(code)
  expect(dumpTables(platform.db)).not.toContain(code)
})

test('DELETE /api/admin/invites/:id: 200 and the code is refused; 404 when it was used, is missing or was deleted', async () => {
  const { ask, register, platform } = await withAdmin()
  const { code } = await read(CreatedInvite, ask('POST'))
  const [invite] = (await read(InviteList, ask('GET'))).invites
  expect((await ask('DELETE', `/${invite?.id}`)).status).toBe(200)
  expect((await register(code, 'bo@example.com')).status).toBe(403)
  expect((await ask('DELETE', `/${invite?.id}`)).status).toBe(404)
  expect((await ask('DELETE', '/missing')).status).toBe(404)
  expect(platform.db.select().from(auditLog).all()).toMatchObject([
    { action: 'invite.create' },
    { action: 'invite.withdraw', target: `invite:${invite?.id}` },
  ])
  const { code: used } = await read(CreatedInvite, ask('POST'))
  const [second] = (await read(InviteList, ask('GET'))).invites
  await register(used, 'bo@example.com')
  expect((await ask('DELETE', `/${second?.id}`)).status).toBe(404)
})

test.each([
  ['GET', ''],
  ['POST', ''],
  ['DELETE', '/x'],
])(
  '%s /api/admin/invites%s: 401 without a session, 403 for a user who is not an administrator',
  async (method, path) => {
    const { ask, ada, platform } = await withAdmin()
    expect((await ask(method, path, {})).status).toBe(401)
    expect((await ask(method, path, ada.cookie)).status).toBe(403)
    expect(countRows(platform.db).invites).toBe(0)
  },
)
