import { expect, test } from 'bun:test'
import { TOTP } from 'otpauth'
import { privateKeyToAccount } from 'viem/accounts'
import { siweMessage } from '../../../../tests/harness/chain/siwe.ts'
import { startGithubDouble } from '../../../../tests/harness/doubles/github.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { openBrowser } from '../../../../tests/harness/web-client.ts'
import { write } from '../../../db/write.ts'
import { SessionResponse } from '../registration/schemas.ts'
import { createTotpSecret } from '../two-factor/codes.ts'
import { enableTwoFactor } from '../two-factor/two-factor.ts'
import { users } from '../users/tables.ts'
import { signInsJob } from './attempts.ts'
import { NonceResponse } from './schemas.ts'

const ADA = privateKeyToAccount(`0x${'a1'.repeat(32)}`)
const STEP_MS = 30_000
const PERSON = { id: 1, login: 'ada', emails: [{ email: 'ada@example.com', primary: true, verified: true }] }
const REQUIRED = [401, { error: 'Two-factor code required', code: 'TWO_FACTOR_REQUIRED' }]
const INVALID = [401, { error: 'Invalid two-factor code', code: 'TWO_FACTOR_INVALID' }]
const EXPIRED = [401, { error: 'Sign in again', code: 'SIGN_IN_EXPIRED' }]

/** A platform and a user who signs in with a wallet, with two-factor sign-in on. */
async function withTwoFactor(environment: Record<string, string> = {}) {
  const it = testPlatform({ environment })
  const browser = openBrowser(it.web)
  const signIn = async (from = browser) => {
    const { nonce } = await read(NonceResponse, it.web.request('/api/auth/nonce'))
    const message = siweMessage({ address: ADA.address, nonce, issuedAt: it.clock.now().toISOString() })
    const body = { address: ADA.address, message, signature: await ADA.signMessage({ message }) }
    return outcome(await from.request('/api/wallet-auth', json('POST', body)))
  }
  await signIn()
  const secret = createTotpSecret()
  const codeNow = () => new TOTP({ secret }).generate({ timestamp: it.clock.now().getTime() })
  const turnOn = async () => {
    const { id = '' } = it.platform.db.select({ id: users.id }).from(users).get() ?? {}
    const twoFactorSecret = it.platform.sealer.seal(secret, `users:twoFactorSecret:${id}`)
    await write(it.platform.db, (tx) => tx.update(users).set({ twoFactorSecret }).run())
    const recoveryCodes = await enableTwoFactor(it.platform, { userId: id, address: null }, codeNow())
    it.clock.advance(STEP_MS)
    browser.cookies.clear()
    return recoveryCodes
  }
  const bring = async (code: string, from = browser) =>
    outcome(await from.request('/api/auth/two-factor', json('POST', { code })))
  const whoIs = async (from = browser) => (await read(SessionResponse, from.request('/api/auth/session'))).user
  return { ...it, browser, signIn, turnOn, codeNow, bring, whoIs }
}

async function outcome(response: Response) {
  return [response.status, await response.json()]
}

test('POST /api/wallet-auth: 401 when the account has two factors, 200 with the code', async () => {
  const it = await withTwoFactor()
  await it.turnOn()
  expect(await it.signIn()).toEqual(REQUIRED)
  expect([...it.browser.cookies.keys()]).toEqual(['service-two-factor'])
  expect(await it.whoIs()).toBeNull()
  const [status, body] = await it.bring(it.codeNow())
  expect([status, body]).toEqual([
    200,
    { ok: true, user: { id: expect.any(String), name: expect.stringMatching(/^Wallet:/) } },
  ])
  expect([...it.browser.cookies.keys()]).toEqual(['service-session', expect.stringMatching(/^service-device-/)])
  expect((await it.whoIs())?.name).toStartWith('Wallet:')
})

test('the cookie of a sign-in that awaits its code is HttpOnly for five minutes, and cannot be made from the database', async () => {
  const it = await withTwoFactor({ APP_URL: 'http://localhost:3000' })
  await it.turnOn()
  await it.signIn()
  const ticket = it.browser.cookies.get('service-two-factor') ?? ''
  expect(dumpTables(it.platform.db)).not.toContain(ticket)
  it.browser.cookies.set('service-two-factor', `${ticket.slice(0, -4)}AAAA`)
  expect(await it.bring(it.codeNow())).toEqual(EXPIRED)
  it.browser.cookies.set('service-two-factor', ticket)
  it.clock.advance(300_000)
  expect(await it.bring(it.codeNow())).toEqual(EXPIRED)
  await signInsJob(it.platform).run(new AbortController().signal)
  expect(countRows(it.platform.db)).toMatchObject({ wallet_nonces: 0, sign_in_attempts: 0 })
})

test('POST /api/auth/two-factor: 401 when the code is wrong, after which the right one is accepted', async () => {
  const it = await withTwoFactor()
  await it.turnOn()
  await it.signIn()
  const ticket = it.browser.cookies.get('service-two-factor') ?? ''
  expect(await it.bring('000000')).toEqual(INVALID)
  expect(await it.bring('')).toEqual([400, { error: 'Code required' }])
  expect((await it.bring(it.codeNow()))[0]).toBe(200)

  it.clock.advance(STEP_MS)
  const again = openBrowser(it.web)
  again.cookies.set('service-two-factor', ticket)
  expect(await it.bring(it.codeNow(), again)).toEqual(EXPIRED)
})

test('POST /api/auth/two-factor: 200 with a recovery code, 401 when it is used again', async () => {
  const it = await withTwoFactor()
  const [code = ''] = await it.turnOn()
  await it.signIn()
  expect((await it.bring(code))[0]).toBe(200)
  const again = openBrowser(it.web)
  await it.signIn(again)
  expect(await it.bring(code, again)).toEqual(INVALID)
})

test('POST /api/auth/two-factor: 401 when no sign-in awaits a code', async () => {
  const it = await withTwoFactor()
  await it.turnOn()
  expect(await it.bring(it.codeNow())).toEqual(EXPIRED)
})

test('POST /api/auth/two-factor: 429 after ten wrong codes over any number of sign-ins', async () => {
  const it = await withTwoFactor()
  await it.turnOn()
  for (let wrong = 0; wrong < 10; wrong++) {
    const browser = openBrowser(it.web)
    await it.signIn(browser)
    expect(await it.bring('000000', browser)).toEqual(INVALID)
  }
  await it.signIn()
  expect((await it.bring(it.codeNow()))[0]).toBe(429)
})

test('POST /api/auth/two-factor: 200 for one of nine concurrent requests with one code', async () => {
  const it = await withTwoFactor()
  await it.turnOn()
  await it.signIn()
  const before = countRows(it.platform.db).sessions ?? 0
  const headers = { cookie: `service-two-factor=${it.browser.cookies.get('service-two-factor')}` }
  const code = it.codeNow()
  const answers = await Promise.all(
    Array.from({ length: 9 }, () => it.web.request('/api/auth/two-factor', json('POST', { code }, headers))),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(countRows(it.platform.db).sessions).toBe(before + 1)
})

test('POST /api/auth/two-factor: 401 when the account was disabled in the meantime', async () => {
  const it = await withTwoFactor()
  await it.turnOn()
  await it.signIn()
  await write(it.platform.db, (tx) => tx.update(users).set({ disabledAt: it.clock.now() }).run())
  expect(await it.bring(it.codeNow())).toEqual(EXPIRED)
})

test('GET /api/auth/idp-a/callback: 302 to the second step when the account has two factors', async () => {
  await using github = await startGithubDouble()
  github.signInAs(PERSON)
  const it = await withTwoFactor(github.environment)
  await write(it.platform.db, (tx) =>
    tx.update(users).set({ email: 'ada@example.com', emailVerifiedAt: it.clock.now() }).run(),
  )
  await it.turnOn()
  const back = await github.visit(await it.browser.follow('/api/auth/idp-a'))
  expect(await it.browser.follow(`${back.pathname}${back.search}`)).toBe('/login?step=two-factor')
  expect([...it.browser.cookies.keys()]).toEqual(['service-two-factor'])
  // A caller with the e-mail but without the second factor leaves no rows.
  expect(countRows(it.platform.db)).toMatchObject({ identities: 0 })
  expect((await it.bring(it.codeNow()))[0]).toBe(200)
  expect((await it.whoIs())?.email).toBe('ada@example.com')
  expect(countRows(it.platform.db)).toMatchObject({ identities: 1 })
})
