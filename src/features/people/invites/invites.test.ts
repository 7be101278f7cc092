import { expect, test } from 'bun:test'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { auditLog } from '../audit/tables.ts'
import { InviteResponse } from './schemas.ts'
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

test('POST /api/invite/generate: 200 with a code of 80 bits that is stored nowhere, and a line in the audit log', async () => {
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
])('POST /api/invite/generate: 401 for %s, and no invitation is made', async (_who, headers) => {
  const { generate, platform } = withInvites()
  const response = await generate(headers)
  expect(response.status).toBe(401)
  expect(await response.json()).toEqual({ error: 'Unauthorized' })
  expect(countRows(platform.db).invites).toBe(0)
})

test('POST /api/invite/generate: an admin’s invitation is his own, another user gets 403', async () => {
  const { generate, signIn, platform } = withInvites({ ADMIN_EMAILS: 'ada@example.com' })
  const ada = await signIn('ada@example.com')
  const eve = await signIn('eve@example.com')
  expect((await generate({ ...OPERATOR, 'x-user-id': eve.user.id })).status).toBe(403)
  expect((await generate({ ...OPERATOR, 'x-user-id': ada.user.id })).status).toBe(200)
  expect(platform.db.select().from(invites).all()).toMatchObject([{ createdBy: ada.user.id }])
})

test('POST /api/invite/validate: 200 exactly once, in either case', async () => {
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

test('POST /api/invite/validate: of 200 at once with one code exactly one is told true, fifty times over', async () => {
  const { invite, validate, isUsed } = withInvites()
  for (let round = 0; round < 50; round++) {
    const code = await invite()
    const answers = await Promise.all(Array.from({ length: 200 }, () => validate({ code })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(199)
  }
  expect(isUsed()).toEqual(Array.from({ length: 50 }, () => true))
}, 300_000)

test('POST /api/invite/generate: a thousand codes differ, and none starts like another', async () => {
  const { invite, platform } = withInvites()
  const codes = await Promise.all(Array.from({ length: 1000 }, () => invite()))
  expect(new Set(codes.map((code) => code.slice(0, 12))).size).toBe(1000)
  expect(countRows(platform.db).invites).toBe(1000)
})

test('POST /api/invite/generate: 429 beyond the rate of one address', async () => {
  const { generate } = withInvites({ RATE_LIMIT_BACKEND: '2' })
  expect([(await generate()).status, (await generate()).status, (await generate()).status]).toEqual([200, 200, 429])
})

test('POST /api/invite/validate: 429 beyond the rate of one address', async () => {
  const { face } = withInvites({ RATE_LIMIT_REGISTER: '2' })
  const ask = async (address: string) =>
    (await face('backend', { address }).request('/api/invite/validate', json('POST', { code: 'x' }))).status
  expect([await ask('203.0.113.1'), await ask('203.0.113.1'), await ask('203.0.113.1')]).toEqual([400, 400, 429])
  expect(await ask('203.0.113.2')).toBe(400)
})

test('POST /api/register: 200 with an invitation, which is used with it', async () => {
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
])('POST /api/register by invitation: the code %p gets %d, before the hasher works', async (code, status, error) => {
  const { register, invite, isUsed, platform } = withInvites()
  await invite()
  const response = await register(code)
  expect([response.status, await response.json()]).toEqual([status, { error }])
  expect(countRows(platform.db).users).toBe(0)
  expect(isUsed()).toEqual([false])
  expect(platform.passwords.calls).toBe(0)
})

test('POST /api/register by invitation: a registration that fails does not use the invitation', async () => {
  const { register, invite, isUsed } = withInvites()
  await register(await invite())
  const code = await invite()
  expect((await register(code)).status).toBe(409)
  expect(isUsed().filter(Boolean)).toHaveLength(1)
  expect((await register(code, 'bo@example.com')).status).toBe(200)
})

test('POST /api/register by invitation: of 30 at once with one code exactly one account is made', async () => {
  const { register, invite, platform } = withInvites()
  const code = await invite()
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => register(code, `user${n}@example.com`)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(29)
  expect(countRows(platform.db).users).toBe(1)
})

test('POST /api/register: where sign-up is open an invitation is not asked for, and not used', async () => {
  const { register, invite, isUsed } = withInvites({})
  expect((await register(await invite())).status).toBe(200)
  expect(isUsed()).toEqual([false])
})
