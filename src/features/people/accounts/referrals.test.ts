import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { users } from '../users/tables.ts'
import { creditReferral } from './referrals.ts'
import { ReferralsResponse } from './schemas.ts'

const PASSWORD = 'correct horse'

/** Ada, who refers others, and what they do. */
async function withReferrer() {
  const platform = testPlatform()
  const ada = await platform.signIn('ada@example.com')
  const referrals = () =>
    read(ReferralsResponse, platform.web.request('/api/settings/referrals', { headers: ada.cookie }))
  return {
    ...platform,
    ada,
    referrals,
    code: (await referrals()).code,
    join: (email: string, referralCode: unknown) =>
      platform.web.request('/api/register', json('POST', { email, password: PASSWORD, referralCode })),
    credits: () =>
      Object.fromEntries(
        platform.platform.db
          .select()
          .from(users)
          .all()
          .map((row) => [row.email, row.credits]),
      ),
  }
}

test('POST /api/register: a referral code in either case gives both ten credits', async () => {
  const { join, credits, code, referrals } = await withReferrer()
  expect(code).toMatch(/^[0-9A-F]{8}$/)
  expect((await join('bo@example.com', ` ${code.toLowerCase()} `)).status).toBe(200)
  expect((await join('cy@example.com', code)).status).toBe(200)
  expect(credits()).toEqual({ 'ada@example.com': 20, 'bo@example.com': 10, 'cy@example.com': 10 })
  expect(await referrals()).toEqual({ code, referred: 2, credits: 20 })
})

test.each([undefined, '', 'NOBODY-HAS-THIS', '00000000'])(
  'POST /api/register: 200 and no credits for the referral code %p',
  async (referralCode) => {
    const { join, credits, platform } = await withReferrer()
    expect((await join('bo@example.com', referralCode)).status).toBe(200)
    expect(credits()).toEqual({ 'ada@example.com': 0, 'bo@example.com': 0 })
    expect(countRows(platform.db).referrals).toBe(0)
  },
)

test('POST /api/register: a registration that fails credits nobody', async () => {
  const { join, credits, code, platform } = await withReferrer()
  expect((await join('ada@example.com', code)).status).toBe(409)
  expect(credits()).toEqual({ 'ada@example.com': 0 })
  expect(countRows(platform.db).referrals).toBe(0)
})

test('POST /api/register: of 200 at once with one address and one code exactly one pair is credited', async () => {
  const { join, credits, code, platform } = await withReferrer()
  const answers = await Promise.all(Array.from({ length: 200 }, () => join('bo@example.com', code)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(credits()).toEqual({ 'ada@example.com': 10, 'bo@example.com': 10 })
  expect(countRows(platform.db).referrals).toBe(1)
})

test('a new user is credited once, and never for himself', async () => {
  const { platform, ada, code, join, credits } = await withReferrer()
  await join('bo@example.com', code)
  const bo = platform.db
    .select()
    .from(users)
    .all()
    .find(({ email }) => email === 'bo@example.com')
  const again = () => write(platform.db, (tx) => creditReferral(tx, platform, { id: bo?.id ?? '' }, code))
  await Promise.all(Array.from({ length: 200 }, again))
  await write(platform.db, (tx) => creditReferral(tx, platform, ada.user, code))
  expect(credits()).toEqual({ 'ada@example.com': 10, 'bo@example.com': 10 })
})

test('GET /api/settings/referrals: an account from before there were codes gets one, and keeps it', async () => {
  const { platform, referrals } = await withReferrer()
  await write(platform.db, (tx) => tx.update(users).set({ referralCode: null }).run())
  const [first, second] = await Promise.all([referrals(), referrals()])
  expect(first.code).toMatch(/^[0-9A-F]{8}$/)
  expect(second.code).toBe(first.code)
})

test('GET /api/settings/referrals: 401 for nobody', async () => {
  const { web } = testPlatform()
  expect((await web.request('/api/settings/referrals')).status).toBe(401)
})
