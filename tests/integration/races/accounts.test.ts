import { expect, test } from 'bun:test'
import { TOTP } from 'otpauth'
import { sha256 } from '../../../src/core/secrets.ts'
import { write } from '../../../src/db/write.ts'
import { createInvite } from '../../../src/features/accounts/invites/invites.ts'
import { CreatedKey, KeyList } from '../../../src/features/accounts/keys/schemas.ts'
import { issueEmailToken } from '../../../src/features/accounts/notifications/email-tokens.ts'
import { startPending } from '../../../src/features/accounts/sign-in/pending.ts'
import { RecoveryCodes, TwoFactorSetup } from '../../../src/features/accounts/two-factor/schemas.ts'
import { users } from '../../../src/features/accounts/users/tables.ts'
import { startJobs } from '../../harness/jobs.ts'
import { testPlatform } from '../../harness/platform.ts'
import { json, read } from '../../harness/requests.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { countRows } from '../../harness/rows/dump.ts'

const RUNNERS = 200
const ROUNDS = Array.from({ length: roundsOf('RACE_ROUNDS', 1) }, (_, index) => index + 1)
const ADA = { email: 'ada@example.com', password: 'correct horse' }
const STEP_MS = 30_000

/** Creates a platform where Ada is signed in with a password, and returns her requests. */
async function withAda(environment: Record<string, string> = {}) {
  const it = testPlatform({ environment })
  await it.web.request('/api/register', json('POST', ADA))
  const login = (more: object = {}) => it.web.request('/api/auth/login', json('POST', { ...ADA, ...more }))
  const cookie = { cookie: (await login()).headers.getSetCookie()[0]?.split(';')[0] ?? '' }
  const post = (path: string, body: unknown = {}) => it.web.request(path, json('POST', body, cookie))
  const { id = '' } = it.platform.db.select({ id: users.id }).from(users).get() ?? {}
  return { ...it, id, cookie, login, post }
}

/** Adds two-factor authentication; the current code is unused. */
async function withTwoFactor() {
  const ada = await withAda()
  const { secret } = await read(TwoFactorSetup, ada.post('/api/settings/two-factor/setup', { password: ADA.password }))
  const code = () => new TOTP({ secret }).generate({ timestamp: ada.clock.now().getTime() })
  const { recoveryCodes } = await read(RecoveryCodes, ada.post('/api/settings/two-factor/enable', { code: code() }))
  ada.clock.advance(STEP_MS)
  return { ...ada, code, recoveryCodes }
}

/** Sends two hundred requests at once. @returns the number of responses by status. */
async function race(run: (index: number) => Promise<Response>): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: RUNNERS }, (_, index) => run(index)))
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test.each(ROUNDS)('a reset link sets one password when 200 requests are concurrent (round %d)', async () => {
  const ada = await withAda()
  const link = { userId: ada.id, purpose: 'reset-password', email: ADA.email } as const
  const token = await write(ada.platform.db, (tx) => issueEmailToken(tx, link, ada.clock.now()))
  const counts = await race((index) =>
    ada.post('/api/auth/reset-password', { token, password: `new password ${index}` }),
  )
  // Requests beyond the hasher's queue get 503.
  expect(counts).toMatchObject({ 200: 1 })
  expect((counts[200] ?? 0) + (counts[400] ?? 0) + (counts[429] ?? 0)).toBe(RUNNERS)
  expect(countRows(ada.platform.db)).toMatchObject({ email_tokens: 0, sessions: 0 })
})

test.each(['verify-email', 'change-email'] as const)(
  'a link to %s succeeds once when 200 requests are concurrent',
  async (purpose) => {
    const ada = await withAda()
    const link = { userId: ada.id, purpose, email: purpose === 'verify-email' ? ADA.email : 'countess@example.com' }
    const token = await write(ada.platform.db, (tx) => issueEmailToken(tx, link, ada.clock.now()))
    expect(await race(() => ada.post('/api/auth/verify-email', { token }))).toEqual({ 200: 1, 400: RUNNERS - 1 })
    expect(ada.platform.db.select().from(users).get()).toMatchObject({
      email: link.email,
      emailVerifiedAt: ada.clock.now(),
    })
  },
)

test.each(ROUNDS)('an address that 200 accounts confirm at once is given to one of them (round %d)', async () => {
  const it = testPlatform()
  const people = await Promise.all(
    Array.from({ length: RUNNERS }, (_, index) => it.signIn(`person${index}@example.com`)),
  )
  const tokens = await write(it.platform.db, (tx) =>
    people.map(({ user }) =>
      issueEmailToken(tx, { userId: user.id, purpose: 'change-email', email: ADA.email }, it.clock.now()),
    ),
  )
  const counts = await race((index) => it.web.request('/api/auth/verify-email', json('POST', { token: tokens[index] })))
  expect(counts).toEqual({ 200: 1, 409: RUNNERS - 1 })
  expect(
    it.platform.db
      .select()
      .from(users)
      .all()
      .filter(({ email }) => email === ADA.email),
  ).toHaveLength(1)
})

test.each(ROUNDS)('an invitation is used once by 200 concurrent registrations (round %d)', async () => {
  const it = testPlatform({ environment: { SIGN_UP: 'invite' } })
  const inviteCode = await createInvite(it.platform, 'operator')
  const counts = await race((index) =>
    it.web.request('/api/register', json('POST', { ...ADA, email: `person${index}@example.com`, inviteCode })),
  )
  expect(counts).toMatchObject({ 200: 1 })
  expect((counts[200] ?? 0) + (counts[403] ?? 0) + (counts[429] ?? 0)).toBe(RUNNERS)
  expect(countRows(it.platform.db).users).toBe(1)
})

test.each(ROUNDS)('a recovery code is used once by 200 concurrent sign-ins (round %d)', async () => {
  const ada = await withTwoFactor()
  const [code = ''] = ada.recoveryCodes
  const counts = await race(() => ada.login({ code }))
  expect(counts).toMatchObject({ 200: 1 })
  expect((counts[200] ?? 0) + (counts[401] ?? 0) + (counts[429] ?? 0)).toBe(RUNNERS)
  expect(countRows(ada.platform.db)).toMatchObject({ recovery_codes: 9, sessions: 2 })
})

test.each(ROUNDS)(
  'a sign-in that awaits its code is completed once by 200 concurrent requests (round %d)',
  async () => {
    const ada = await withTwoFactor()
    const cookie = `service-two-factor=${await startPending(ada.platform, ada.id, null)}`
    const bring = (code: string) => ada.web.request('/api/auth/two-factor', json('POST', { code }, { cookie }))
    // Ten different valid codes: only one sign-in may succeed.
    const counts = await race((index) => bring(ada.recoveryCodes[index % 10] ?? ''))
    expect(counts).toMatchObject({ 200: 1 })
    expect((counts[200] ?? 0) + (counts[401] ?? 0) + (counts[429] ?? 0)).toBe(RUNNERS)
    expect(countRows(ada.platform.db)).toMatchObject({ sessions: 2, wallet_nonces: 0 })
  },
)

test.each(ROUNDS)('a recovery code completes one of 200 sign-ins that await a code (round %d)', async () => {
  const ada = await withTwoFactor()
  const tickets = await Promise.all(Array.from({ length: RUNNERS }, () => startPending(ada.platform, ada.id, null)))
  const counts = await race((index) => {
    const headers = { cookie: `service-two-factor=${tickets[index]}` }
    return ada.web.request('/api/auth/two-factor', json('POST', { code: ada.recoveryCodes[0] }, headers))
  })
  expect(counts).toMatchObject({ 200: 1 })
  expect(countRows(ada.platform.db)).toMatchObject({ sessions: 2, recovery_codes: 9 })
})

test.each(ROUNDS)(
  'two-factor sign-in is enabled once, with recovery codes for one of 200 concurrent requests (round %d)',
  async () => {
    const ada = await withAda()
    const { secret } = await read(
      TwoFactorSetup,
      ada.post('/api/settings/two-factor/setup', { password: ADA.password }),
    )
    const code = new TOTP({ secret }).generate({ timestamp: ada.clock.now().getTime() })
    expect(await race(() => ada.post('/api/settings/two-factor/enable', { code }))).toMatchObject({ 200: 1 })
    expect(countRows(ada.platform.db).recovery_codes).toBe(10)
  },
)

test.each(ROUNDS)('a plan for one agent allows one of 200 concurrent requests (round %d)', async () => {
  const it = testPlatform()
  await using _jobs = startJobs(it.platform)
  const { cookie } = await it.signIn(ADA.email, 'solo')
  const counts = await race(() => it.web.request('/api/agents/provision', json('POST', { name: 'Ada' }, cookie)))
  expect(counts).toEqual({ 201: 1, 429: RUNNERS - 1 })
  expect(countRows(it.platform.db).agents).toBe(1)
})

test.each(ROUNDS)('the limit of keys allows 25 of 200 concurrent requests (round %d)', async () => {
  const ada = await withAda()
  expect(await race(() => ada.post('/api/keys', { name: 'laptop' }))).toEqual({ 201: 25, 429: RUNNERS - 25 })
  const { keys } = await read(KeyList, ada.web.request('/api/keys', { headers: ada.cookie }))
  expect(keys).toHaveLength(25)
})

test.each(ROUNDS)('a key is rotated once by 200 concurrent requests (round %d)', async () => {
  const ada = await withAda()
  const { id } = await read(CreatedKey, ada.post('/api/keys', { name: 'laptop' }))
  expect(await race(() => ada.post(`/api/keys/${id}/rotate`))).toEqual({ 201: 1, 404: RUNNERS - 1 })
  expect(countRows(ada.platform.db).api_keys).toBe(1)
})

test('a session is deleted once by 200 concurrent requests', async () => {
  const ada = await withAda()
  const other = await ada.platform.sessions.create(ada.id)
  const path = `/api/auth/sessions/${sha256(other).slice(0, 16)}`
  const counts = await race(() => ada.web.request(path, { method: 'DELETE', headers: ada.cookie }))
  expect(counts).toEqual({ 200: 1, 404: RUNNERS - 1 })
})
