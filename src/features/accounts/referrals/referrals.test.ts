import { expect, test } from 'bun:test'
import { mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { ReferralsResponse } from '../users/schemas.ts'
import { users } from '../users/tables.ts'
import { creditReferral, noteReferral } from './referrals.ts'

const PASSWORD = 'correct horse'
const DAY_MS = 86_400_000

/** Ada, who refers others by a server that sends mail. */
async function withReferrer() {
  const test = await mailingPlatform()
  const ada = await test.signIn('ada@example.com')
  const referrals = () => read(ReferralsResponse, test.web.request('/api/settings/referrals', { headers: ada.cookie }))
  const join = (email: string, referralCode: unknown) =>
    test.web.request('/api/register', json('POST', { email, password: PASSWORD, referralCode }))
  const prove = async (email: string) => {
    await test.arrival(email, 'Confirm your email')
    const token = test.mail.linkTo(email).searchParams.get('token')
    return (await test.web.request('/api/auth/verify-email', json('POST', { token }))).status
  }
  return {
    ...test,
    ada,
    referrals,
    code: (await referrals()).code,
    join,
    prove,
    credits: () => creditsOfAll(test.platform),
  }
}

function creditsOfAll({ db }: ReturnType<typeof testPlatform>['platform']) {
  const rows = db.select().from(users).all()
  return Object.fromEntries(rows.map(({ email, credits }) => [email, credits]))
}

test('POST /api/auth/verify-email: 200 and ten credits for both when a referral code was sent in upper or lower case', async () => {
  await using it = await withReferrer()
  expect(it.code).toMatch(/^[0-9A-F]{8}$/)
  expect((await it.join('bo@example.com', ` ${it.code.toLowerCase()} `)).status).toBe(200)
  expect((await it.join('cy@example.com', it.code)).status).toBe(200)
  expect(it.credits()).toEqual({ 'ada@example.com': 0, 'bo@example.com': 0, 'cy@example.com': 0 })
  expect(await it.referrals()).toEqual({ code: it.code, referred: 2, credits: 0 })
  expect(await it.prove('bo@example.com')).toBe(200)
  expect(it.credits()).toEqual({ 'ada@example.com': 10, 'bo@example.com': 10, 'cy@example.com': 0 })
  expect(await it.referrals()).toEqual({ code: it.code, referred: 2, credits: 10 })
})

test('POST /api/auth/reset-password: 200 and the referral is credited, because the mailed link verifies the address', async () => {
  await using it = await withReferrer()
  await it.join('bo@example.com', it.code)
  await it.arrival('bo@example.com', 'Confirm your email')
  await it.web.request('/api/auth/forgot-password', json('POST', { email: 'bo@example.com' }))
  await it.arrival('bo@example.com', 'Reset your')
  const token = it.mail.linkTo('bo@example.com').searchParams.get('token')
  const reset = json('POST', { token, password: 'another correct horse' })
  expect((await it.web.request('/api/auth/reset-password', reset)).status).toBe(200)
  expect(it.credits()).toEqual({ 'ada@example.com': 10, 'bo@example.com': 10 })
})

test('PATCH /api/admin/users/:id: 200 and the referral is credited when an administrator marks the address verified', async () => {
  const { web, signIn, platform } = testPlatform({ environment: { ADMIN_EMAILS: 'root@example.com' } })
  const root = await signIn('root@example.com')
  const bo = await signIn('bo@example.com')
  await write(platform.db, (tx) => noteReferral(tx, platform, bo.user, root.user.referralCode ?? ''))
  const patch = json('PATCH', { emailVerified: true }, root.cookie)
  expect((await web.request(`/api/admin/users/${bo.user.id}`, patch)).status).toBe(200)
  expect(creditsOfAll(platform)).toEqual({ 'root@example.com': 10, 'bo@example.com': 10 })
})

test('creditReferral credits at most ten referrals per month and continues in the next month', async () => {
  const { platform, signIn, clock } = testPlatform()
  const ada = await signIn('ada@example.com')
  const referred = await Promise.all(Array.from({ length: 12 }, (_, index) => signIn(`user${index}@example.com`)))
  const credit = (userId: string) => write(platform.db, (tx) => creditReferral(tx, platform, userId))
  for (const { user } of referred) {
    await write(platform.db, (tx) => noteReferral(tx, platform, user, ada.user.referralCode ?? ''))
  }
  await Promise.all(referred.map(({ user }) => credit(user.id)))
  const sum = () => Object.values(creditsOfAll(platform)).reduce((all, one) => all + one, 0)
  expect([creditsOfAll(platform)['ada@example.com'], sum()]).toEqual([100, 200])
  clock.advance(32 * DAY_MS)
  for (const { user } of referred) await credit(user.id)
  expect([creditsOfAll(platform)['ada@example.com'], sum()]).toEqual([120, 240])
})

test.each([undefined, '', 'NOBODY-HAS-THIS', '00000000'])(
  'POST /api/register: 200 without a referral when the code is %p',
  async (referralCode) => {
    await using it = await withReferrer()
    expect((await it.join('bo@example.com', referralCode)).status).toBe(200)
    expect(await it.prove('bo@example.com')).toBe(200)
    expect(it.credits()).toEqual({ 'ada@example.com': 0, 'bo@example.com': 0 })
    expect(countRows(it.platform.db).referrals).toBe(0)
  },
)

test('POST /api/register: 409 when the address is taken, and no referral is stored', async () => {
  await using it = await withReferrer()
  expect((await it.join('ada@example.com', it.code)).status).toBe(409)
  expect(countRows(it.platform.db).referrals).toBe(0)
})

test('POST /api/register: 200 once, with one referral, when 200 concurrent requests send one address and code', async () => {
  await using it = await withReferrer()
  const answers = await Promise.all(Array.from({ length: 200 }, () => it.join('bo@example.com', it.code)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(await it.prove('bo@example.com')).toBe(200)
  expect(it.credits()).toEqual({ 'ada@example.com': 10, 'bo@example.com': 10 })
  expect(countRows(it.platform.db).referrals).toBe(1)
})

test('creditReferral credits a user once, and never for their own code', async () => {
  const { platform, signIn } = testPlatform()
  const ada = await signIn('ada@example.com')
  const bo = await signIn('bo@example.com')
  const code = ada.user.referralCode ?? ''
  await write(platform.db, (tx) => noteReferral(tx, platform, bo.user, code))
  await write(platform.db, (tx) => noteReferral(tx, platform, ada.user, code))
  const credit = (userId: string) => write(platform.db, (tx) => creditReferral(tx, platform, userId))
  await Promise.all(Array.from({ length: 200 }, () => credit(bo.user.id)))
  await credit(ada.user.id)
  expect(creditsOfAll(platform)).toEqual({ 'ada@example.com': 10, 'bo@example.com': 10 })
})

test('GET /api/settings/referrals: 200 with a new code when an older account has none, and the same code later', async () => {
  await using it = await withReferrer()
  const { platform, referrals } = it
  await write(platform.db, (tx) => tx.update(users).set({ referralCode: null }).run())
  const [first, second] = await Promise.all([referrals(), referrals()])
  expect(first.code).toMatch(/^[0-9A-F]{8}$/)
  expect(second.code).toBe(first.code)
})

test('GET /api/settings/referrals: 401 without credentials', async () => {
  const { web } = testPlatform()
  expect((await web.request('/api/settings/referrals')).status).toBe(401)
})
