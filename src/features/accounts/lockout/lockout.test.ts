import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { TOTP } from 'otpauth'
import { mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import { openBrowser } from '../../../../tests/harness/web-client.ts'
import { sha256 } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { CreatedKey } from '../keys/schemas.ts'
import { TwoFactorSetup } from '../two-factor/schemas.ts'
import { throttles, users } from '../users/tables.ts'
import { createKnownDevices } from './known-devices.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse battery' }
const EVE = { email: 'eve@example.com', password: 'another long secret' }
const WRONG = { ...ADA, password: 'a wrong guess' }
const NEXT = 'another battery staple'
const QUARTER_HOUR_MS = 15 * 60_000
const HOUR_MS = 4 * QUARTER_HOUR_MS
const OFFICE = '198.51.100.1'
const ACCOUNT = `login:account:${sha256(ADA.email)}`
/** More addresses than the limit of an account. */
const BOTS = Array.from({ length: 8 }, (_, index) => `203.0.113.${index + 1}`)

/** Ada, who has signed in on one browser, and strangers with many addresses. */
async function installation(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment })
  await test.web.request('/api/register', json('POST', ADA))
  /** A browser at an address: one that keeps its cookies. */
  const browserAt = (address: string) => openBrowser(test.api('web', { address }))
  const signIn = async (browser: ReturnType<typeof openBrowser>, body: object = ADA) =>
    (await browser.request('/api/auth/login', json('POST', body))).status
  const desk = browserAt(OFFICE)
  expect(await signIn(desk)).toBe(200)
  const guess = async (address: string, times: number, body: object = WRONG) => {
    const statuses: number[] = []
    for (let count = 0; count < times; count++) statuses.push(await signIn(browserAt(address), body))
    return statuses
  }
  /** Inserts failed attempts directly, because each real one costs the hasher's work. */
  const pretend = (key: string, count: number) =>
    write(test.platform.db, (tx) => {
      const { changes } = tx.update(throttles).set({ count }).where(eq(throttles.key, key)).run()
      expect([key, changes]).toEqual([key, 1])
    })
  /** One failed attempt of a stranger, after many of other addresses. */
  const besiege = async () => {
    await guess('203.0.113.7', 1)
    await pretend(ACCOUNT, 50)
  }
  return { ...test, desk, browserAt, signIn, guess, pretend, besiege }
}

test('POST /api/auth/login: 429 for one client address after ten wrong passwords, while others sign in', async () => {
  const { guess, signIn, browserAt, desk } = await installation()
  expect(await guess('203.0.113.7', 12)).toEqual([...Array(10).fill(401), 429, 429])
  expect(await signIn(browserAt('203.0.113.7'))).toBe(429)
  expect(await signIn(browserAt(OFFICE))).toBe(200)
  expect(await signIn(browserAt('192.0.2.1'))).toBe(200)
  expect(await signIn(desk)).toBe(200)
})

test('POST /api/auth/login: 429 for all unknown devices after fifty failures in an hour, 200 from a known device', async () => {
  const { guess, pretend, signIn, browserAt, desk, api, clock } = await installation()
  await guess('203.0.113.200', 1)
  await pretend(ACCOUNT, 46)
  const statuses = (await Promise.all(BOTS.map((bot) => guess(bot, 1)))).flat()
  expect(statuses.filter((status) => status === 401)).toHaveLength(4)
  expect(await signIn(browserAt('192.0.2.1'))).toBe(429)
  expect(await signIn(desk)).toBe(200)
  const onTheRoad = openBrowser(api('web', { address: BOTS[0] ?? null }))
  for (const [name, value] of desk.cookies) if (name.startsWith('service-device-')) onTheRoad.cookies.set(name, value)
  expect(await signIn(onTheRoad)).toBe(200)
  clock.advance(HOUR_MS)
  expect(await signIn(browserAt('192.0.2.1'))).toBe(200)
})

test('POST /api/auth/login: 200 from a known device when a stranger at the same address used up its attempts', async () => {
  const { guess, pretend, signIn, browserAt, desk } = await installation()
  await guess(OFFICE, 1, { ...WRONG, email: 'nobody@example.com' })
  await pretend(`login:address:${OFFICE}`, 50)
  expect(await signIn(browserAt(OFFICE))).toBe(429)
  expect(await signIn(desk)).toBe(200)
})

test('POST /api/auth/login: ten of 200 concurrent guesses with a device token are checked, besides ten of a stranger', async () => {
  const { signIn, desk, platform, clock } = await installation()
  const before = platform.passwords.calls
  const statuses = await Promise.all(Array.from({ length: 200 }, () => signIn(desk, WRONG)))
  expect(statuses.filter((status) => status === 401)).toHaveLength(20)
  expect(platform.passwords.calls - before).toBe(20)
  expect(await signIn(desk)).toBe(429)
  clock.advance(QUARTER_HOUR_MS)
  expect(await signIn(desk)).toBe(200)
})

test('POST /api/auth/login: 200 from other browsers of the owner when a stolen device token has used up its attempts', async () => {
  const { signIn, desk, browserAt } = await installation()
  const thief = browserAt('203.0.113.66')
  for (const [name, value] of desk.cookies) if (name.startsWith('service-device-')) thief.cookies.set(name, value)
  for (let count = 0; count < 10; count++) expect(await signIn(thief, WRONG)).toBe(401)
  expect(await signIn(desk)).toBe(200)
})

describe('a device token', () => {
  test('is a cookie of 180 days that scripts cannot read, and has the __Host- prefix over https', async () => {
    for (const [environment, name, flags] of [
      [{}, /^service-device-[0-9a-f]{8}$/, ''],
      [{ APP_URL: 'https://stead.example' }, /^__Host-service-device-[0-9a-f]{8}$/, '; Secure'],
    ] as const) {
      const test = testPlatform({ environment })
      await test.web.request('/api/register', json('POST', ADA))
      const response = await test.web.request('/api/auth/login', json('POST', ADA))
      const line = response.headers.getSetCookie().find((cookie) => cookie.includes('service-device')) ?? ''
      expect(line.slice(0, line.indexOf('='))).toMatch(name)
      expect(line.slice(line.indexOf(';'))).toBe(`; Max-Age=15552000; Path=/; HttpOnly${flags}; SameSite=Lax`)
    }
  })

  test('is set when a sign-in succeeds, and at no other time', async () => {
    const { browserAt, signIn } = await installation()
    const browser = browserAt('192.0.2.1')
    await signIn(browser, WRONG)
    await browser.request('/api/register', json('POST', EVE))
    expect([...browser.cookies.keys()]).toEqual([])
    await signIn(browser, EVE)
    expect([...browser.cookies.keys()].filter((name) => name.includes('device'))).toHaveLength(1)
  })

  test('is rejected when it is modified, or of another account or server', async () => {
    const { besiege, signIn, desk, browserAt } = await installation()
    await desk.request('/api/register', json('POST', EVE))
    const eve = browserAt(OFFICE)
    await signIn(eve, EVE)
    const other = await installation()
    await besiege()
    const [name = '', mark = ''] = [...desk.cookies].find(([cookie]) => cookie.startsWith('service-device-')) ?? []
    const [device = '', end = '', signature = ''] = mark.split('.')
    const evesMark = [...eve.cookies].find(([cookie]) => cookie.startsWith('service-device-'))?.[1] ?? ''
    const marks = ['', '.', '..', 'x', `${device}.${Number(end) + 1}.${signature}`, `x${device}.${end}.${signature}`]
    for (const wrong of [...marks, `${device}.${end}.`, `${mark}x`, evesMark]) {
      const browser = browserAt(OFFICE)
      browser.cookies.set(name, wrong)
      expect([wrong, await signIn(browser)]).toEqual([wrong, 429])
    }
    for (const [cookie, value] of other.desk.cookies) other.desk.cookies.set(name, value).delete(cookie)
    const elsewhere = browserAt(OFFICE)
    elsewhere.cookies.set(name, other.desk.cookies.get(name) ?? '')
    expect(await signIn(elsewhere)).toBe(429)
    expect(await signIn(desk)).toBe(200)
  })

  test('expires after 180 days, and each sign-in prolongs it', async () => {
    const { besiege, signIn, desk, clock } = await installation()
    clock.advance(179 * 86_400_000)
    expect(await signIn(desk)).toBe(200)
    clock.advance(179 * 86_400_000)
    await besiege()
    expect(await signIn(desk)).toBe(200)
    clock.advance(180 * 86_400_000)
    await besiege()
    expect(await signIn(desk)).toBe(429)
  })

  test('ends when the password changes, except in the browser that changed it', async () => {
    const { besiege, signIn, desk, browserAt } = await installation()
    const phone = browserAt(OFFICE)
    await signIn(phone)
    const body = { currentPassword: ADA.password, newPassword: NEXT }
    expect((await phone.request('/api/settings/password', json('POST', body))).status).toBe(200)
    await besiege()
    expect(await signIn(desk, { ...ADA, password: NEXT })).toBe(429)
    expect(await signIn(phone, { ...ADA, password: NEXT })).toBe(200)
  })
})

describe('codes of a second factor', () => {
  async function withTwoFactor() {
    const it = await installation()
    const secret = await turnOn(it)
    const code = () => {
      it.clock.advance(30_000)
      return new TOTP({ secret }).generate({ timestamp: it.clock.now().getTime() })
    }
    const [user] = it.platform.db.select({ id: users.id }).from(users).all()
    return { ...it, code, account: `code:account:${user?.id}` }
  }

  async function turnOn(it: Awaited<ReturnType<typeof installation>>): Promise<string> {
    const post = (path: string, body: object) => it.desk.request(`/api/settings/two-factor/${path}`, json('POST', body))
    const { secret } = await read(TwoFactorSetup, post('setup', { password: ADA.password }))
    it.clock.advance(30_000)
    await post('enable', { code: new TOTP({ secret }).generate({ timestamp: it.clock.now().getTime() }) })
    return secret
  }

  test('lock out no other address when they are guessed from one', async () => {
    const { guess, signIn, browserAt, code } = await withTwoFactor()
    expect(await guess('203.0.113.7', 11, { ...ADA, code: '000000' })).toEqual([...Array(10).fill(401), 429])
    expect(await signIn(browserAt('203.0.113.7'), { ...ADA, code: code() })).toBe(429)
    expect(await signIn(browserAt('192.0.2.1'), { ...ADA, code: code() })).toBe(200)
  })

  test('are checked thirty times a day from all addresses, and the owner signs in from a known device', async () => {
    const { guess, pretend, signIn, browserAt, desk, code, clock, account } = await withTwoFactor()
    await guess('203.0.113.7', 1, { ...ADA, code: '000000' })
    await pretend(account, 28)
    const statuses = await Promise.all(BOTS.map((bot) => guess(bot, 1, { ...ADA, code: '000000' })))
    expect(statuses.flat().filter((status) => status === 401)).toHaveLength(2)
    clock.advance(HOUR_MS)
    expect(await signIn(browserAt('192.0.2.1'), { ...ADA, code: code() })).toBe(429)
    expect(await signIn(desk, { ...ADA, code: code() })).toBe(200)
    clock.advance(24 * HOUR_MS)
    expect(await signIn(browserAt('192.0.2.1'), { ...ADA, code: code() })).toBe(200)
  })
})

test('POST /api/auth/forgot-password: 200 and a mail to a known device when strangers used up the mails of the address', async () => {
  await using test = await mailingPlatform()
  await test.web.request('/api/register', json('POST', ADA))
  const from = (address: string) => openBrowser(test.api('web', { address }))
  const desk = from(OFFICE)
  await desk.request('/api/auth/login', json('POST', ADA))
  const ask = async (browser: ReturnType<typeof openBrowser>) => {
    const body = { email: ADA.email }
    expect((await browser.request('/api/auth/forgot-password', json('POST', body))).status).toBe(200)
    await until('no mail waits', () => {
      const waiting = test.platform.db.select({ status: jobs.status }).from(jobs).all()
      return waiting.every(({ status }) => status !== 'queued' && status !== 'running')
    })
    return test.mail.received.filter(({ subject }) => subject === 'Reset your password').length
  }
  for (const bot of BOTS) for (let count = 0; count < 3; count++) await ask(from(bot))
  expect(await ask(from('192.0.2.1'))).toBe(10)
  for (let count = 1; count <= 5; count++) expect(await ask(desk)).toBe(10 + count)
  expect(await ask(desk)).toBe(15)
})

test("POST /api/settings/password: 200 in the owner's session when a stolen one used up its attempts", async () => {
  const { desk, browserAt, signIn } = await installation()
  const stolen = browserAt('203.0.113.66')
  await signIn(stolen)
  const change = async (browser: typeof desk, currentPassword: string) =>
    (await browser.request('/api/settings/password', json('POST', { currentPassword, newPassword: NEXT }))).status
  for (let count = 0; count < 10; count++) expect(await change(stolen, 'a wrong guess')).toBe(401)
  expect(await change(stolen, ADA.password)).toBe(429)
  expect(await change(desk, ADA.password)).toBe(200)
})

test('POST /api/settings: 429 after ten wrong passwords sent with a key, whatever its cookies', async () => {
  const { desk, web, platform } = await installation()
  const created = await desk.request('/api/keys', json('POST', { name: 'stolen' }))
  const { key } = CreatedKey.parse(await created.json())
  const statuses: number[] = []
  for (let count = 0; count < 12; count++) {
    const headers = { authorization: `Bearer ${key}`, cookie: `service-session=made-up-${count}` }
    const body = { email: 'mallory@example.com', currentPassword: 'a wrong guess' }
    statuses.push((await web.request('/api/settings', json('POST', body, headers))).status)
  }
  expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
  expect(platform.db.select({ email: users.email }).from(users).all()).toEqual([{ email: ADA.email }])
})

test('the database has neither a device token nor the key that signs it', async () => {
  const { desk, platform, besiege, signIn, browserAt, clock } = await installation()
  const [name = '', mark = ''] = [...desk.cookies].find(([cookie]) => cookie.startsWith('service-device-')) ?? []
  for (const part of mark.split('.')) expect(dumpTables(platform.db)).not.toContain(part)
  const [user] = platform.db.select().from(users).all()
  const forger = createKnownDevices({ key: Buffer.alloc(32), clock })
  await besiege()
  const browser = browserAt(OFFICE)
  browser.cookies.set(name, forger.issue({ id: user?.id ?? '', passwordHash: user?.passwordHash ?? null }))
  expect(await signIn(browser)).toBe(429)
})
