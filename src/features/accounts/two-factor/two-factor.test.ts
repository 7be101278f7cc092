import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { TOTP } from 'otpauth'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { auditLog } from '../audit/tables.ts'
import { CreatedKey } from '../keys/schemas.ts'
import { users } from '../users/tables.ts'
import { RecoveryCodes, TwoFactorSetup, TwoFactorStatus } from './schemas.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const PASSWORD = { password: ADA.password }
const STEP_MS = 30_000
const FORM = /^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/

/** Ada, signed in, and her authenticator. */
async function withAda() {
  const platform = testPlatform()
  await platform.web.request('/api/register', json('POST', ADA))
  const login = (code?: unknown, password = ADA.password) =>
    platform.web.request('/api/auth/login', json('POST', { ...ADA, password, code }))
  const cookie = (await login()).headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const settings = (action: string, body: unknown) =>
    platform.web.request(`/api/settings/two-factor/${action}`, json('POST', body, { cookie }))
  return {
    ...platform,
    login,
    cookie,
    settings,
    status: () => read(TwoFactorStatus, platform.web.request('/api/settings/two-factor', { headers: { cookie } })),
    user: () => platform.platform.db.select().from(users).get(),
    audited: () =>
      platform.platform.db
        .select()
        .from(auditLog)
        .all()
        .map(({ action }) => action),
    codeOf: (secret: string, drift = 0) =>
      new TOTP({ secret }).generate({ timestamp: platform.clock.now().getTime() + drift * STEP_MS }),
  }
}

/** The same with two-factor sign-in on; the clock is one step after the code that enabled it. */
async function withTwoFactor() {
  const ada = await withAda()
  const { secret } = await read(TwoFactorSetup, ada.settings('setup', PASSWORD))
  const { recoveryCodes } = await read(RecoveryCodes, ada.settings('enable', { code: ada.codeOf(secret) }))
  ada.clock.advance(STEP_MS)
  return { ...ada, recoveryCodes, code: (drift?: number) => ada.codeOf(secret, drift) }
}

describe('setup', () => {
  test('POST /api/settings/two-factor/setup: 200 with a secret of 160 bits and its URL; two factors stay off', async () => {
    const { settings, status, login, platform } = await withAda()
    const { secret, uri } = await read(TwoFactorSetup, settings('setup', PASSWORD))
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(uri).toStartWith('otpauth://totp/Stead:ada%40example.com?issuer=Stead')
    expect(new URL(uri).searchParams.get('secret')).toBe(secret)
    expect(await status()).toEqual({ enabled: false, recoveryCodesLeft: 0 })
    expect((await login()).status).toBe(200)
    expect(dumpTables(platform.db)).not.toContain(secret)
  })

  test('POST /api/settings/two-factor/setup: 200 with a secret that replaces the first', async () => {
    const { settings, codeOf } = await withAda()
    const first = await read(TwoFactorSetup, settings('setup', PASSWORD))
    const second = await read(TwoFactorSetup, settings('setup', PASSWORD))
    expect((await settings('enable', { code: codeOf(first.secret) })).status).toBe(400)
    expect((await settings('enable', { code: codeOf(second.secret) })).status).toBe(200)
  })

  test.each([
    [{}, 400, 'Password required'],
    [{ password: '' }, 400, 'Password required'],
    [{ password: 7 }, 400, 'Password must be text'],
    [{ password: 'wrong horse' }, 401, 'Current password is incorrect'],
  ])('POST /api/settings/two-factor/setup: when the body is %j, %d and no secret', async (body, status, error) => {
    const { settings, user } = await withAda()
    const response = await settings('setup', body)
    expect([response.status, await response.json()]).toEqual([status, { error }])
    expect(user()?.twoFactorSecret).toBeNull()
  })

  test('POST /api/settings/two-factor/setup: 429 after ten wrong passwords', async () => {
    const { settings } = await withAda()
    for (let n = 0; n < 10; n++) expect((await settings('setup', { password: 'wrong horse' })).status).toBe(401)
    const refused = await settings('setup', PASSWORD)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('900')
  })

  test('POST /api/settings/two-factor/setup: 200 after a recent sign-in without a password, 401 later', async () => {
    const { web, signIn, clock } = testPlatform()
    const { cookie } = await signIn()
    const ask = () => web.request('/api/settings/two-factor/setup', json('POST', {}, cookie))
    expect((await ask()).status).toBe(200)
    clock.advance(15 * 60_000)
    const late = await ask()
    expect(late.status).toBe(401)
    expect(await late.json()).toMatchObject({ code: 'FRESH_SESSION_REQUIRED' })
  })

  test('POST /api/settings/two-factor/setup: 409 when two factors are on, and the secret stays', async () => {
    const { settings, user, login, code } = await withTwoFactor()
    const before = user()?.twoFactorSecret
    const response = await settings('setup', PASSWORD)
    expect([response.status, await response.json()]).toEqual([409, { error: 'Two-factor sign-in is already on' }])
    expect(user()?.twoFactorSecret).toBe(before ?? '')
    expect((await login(code())).status).toBe(200)
  })
})

describe('enable', () => {
  test('POST /api/settings/two-factor/enable: 200 with ten recovery codes, stored as hashes, and an audit entry', async () => {
    const { recoveryCodes, status, audited, platform } = await withTwoFactor()
    expect(recoveryCodes).toHaveLength(10)
    expect(new Set(recoveryCodes).size).toBe(10)
    for (const code of recoveryCodes) expect(code).toMatch(FORM)
    expect(await status()).toEqual({ enabled: true, recoveryCodesLeft: 10 })
    expect(audited()).toEqual(['two-factor.enable'])
    const dump = dumpTables(platform.db)
    for (const code of recoveryCodes) expect(dump).not.toContain(code)
    for (const code of recoveryCodes) expect(dump).not.toContain(code.replaceAll('-', ''))
  })

  test.each([
    [{}, 'Code required'],
    [{ code: '' }, 'Code required'],
    [{ code: 123456 }, 'Code required'],
    [{ code: 'x'.repeat(65) }, 'Invalid two-factor code'],
    [{ code: '000000' }, 'Invalid two-factor code'],
    [{ code: '1' }, 'Invalid two-factor code'],
  ])('POST /api/settings/two-factor/enable: 400 when the body is %j, and two factors stay off', async (body, error) => {
    const { settings, status } = await withAda()
    await settings('setup', PASSWORD)
    const response = await settings('enable', body)
    expect([response.status, await response.json()]).toEqual([400, { error }])
    expect(await status()).toEqual({ enabled: false, recoveryCodesLeft: 0 })
  })

  test('POST /api/settings/two-factor/enable: 400 without a setup, 409 when two factors are on', async () => {
    const { settings } = await withAda()
    const early = await settings('enable', { code: '123456' })
    expect([early.status, await early.json()]).toEqual([400, { error: 'Set up two-factor sign-in first' }])
    const on = await withTwoFactor()
    expect((await on.settings('enable', { code: on.code() })).status).toBe(409)
    expect((await on.status()).recoveryCodesLeft).toBe(10)
  })
})

describe('sign-in', () => {
  test('POST /api/auth/login: 401 with a request for the code only when the password is right', async () => {
    const { login, platform } = await withTwoFactor()
    const before = countRows(platform.db).sessions
    const wrong = await login('123456', 'wrong horse')
    expect([wrong.status, await wrong.json()]).toEqual([401, { error: 'Invalid email or password' }])
    const right = await login()
    expect(right.status).toBe(401)
    expect(await right.json()).toEqual({ error: 'Two-factor code required', code: 'TWO_FACTOR_REQUIRED' })
    expect(right.headers.getSetCookie()).toEqual([])
    expect(countRows(platform.db).sessions).toBe(before ?? 0)
  })

  test('POST /api/auth/login: 200 when the code contains spaces', async () => {
    const { login, code, clock } = await withTwoFactor()
    expect((await login(code())).status).toBe(200)
    clock.advance(STEP_MS)
    expect((await login(` ${code().slice(0, 3)} ${code().slice(3)} `)).status).toBe(200)
  })

  test.each([
    [-2, 401],
    [-1, 200],
    [0, 200],
    [1, 200],
    [2, 401],
  ])('POST /api/auth/login: when the authenticator is %d steps off, %d', async (drift, status) => {
    const { login, code, clock } = await withTwoFactor()
    clock.advance(10 * STEP_MS)
    expect((await login(code(drift))).status).toBe(status)
  })

  test('POST /api/auth/login: 401 when the code is used, or of an earlier step than a used one', async () => {
    const { login, code, clock } = await withTwoFactor()
    clock.advance(10 * STEP_MS)
    const [earlier, used] = [code(-1), code()]
    expect((await login(used)).status).toBe(200)
    for (const spent of [used, earlier]) {
      const response = await login(spent)
      expect(response.status).toBe(401)
      expect(await response.json()).toEqual({ error: 'Invalid two-factor code', code: 'TWO_FACTOR_INVALID' })
    }
    expect((await login(code(1))).status).toBe(200)
  })

  test('POST /api/auth/login: 401 when the code was used to enable two factors', async () => {
    const { login, code } = await withTwoFactor()
    expect((await login(code(-1))).status).toBe(401)
  })

  test('POST /api/auth/login: 200 for one of ten concurrent requests with one code', async () => {
    const { login, code, recoveryCodes } = await withTwoFactor()
    const winners = async (given: string) =>
      (await Promise.all(Array.from({ length: 10 }, () => login(given)))).filter(({ status }) => status === 200)
    expect(await winners(code())).toHaveLength(1)
    expect(await winners(recoveryCodes[0] ?? '')).toHaveLength(1)
  })

  test('POST /api/auth/login: 200 once for each recovery code in any spelling, and an audit entry', async () => {
    const { login, recoveryCodes, status, audited } = await withTwoFactor()
    const [first = '', second = ''] = recoveryCodes
    expect((await login(first)).status).toBe(200)
    expect((await login(first)).status).toBe(401)
    expect((await login(` ${second.replaceAll('-', '').toUpperCase().replaceAll('0', 'O')} `)).status).toBe(200)
    expect((await status()).recoveryCodesLeft).toBe(8)
    expect(audited().slice(1)).toEqual(['two-factor.use-recovery-code', 'two-factor.use-recovery-code'])
  })

  test('POST /api/auth/login: 429 for 15 minutes after ten wrong codes, whatever comes between', async () => {
    const { login, code, clock } = await withTwoFactor()
    for (let failure = 0; failure < 10; failure++) {
      expect((await login('000000')).status).toBe(401)
      // The right password alone is neither a failure nor a success.
      if (failure < 9) expect((await login()).status).toBe(401)
    }
    expect((await login(code())).status).toBe(429)
    clock.advance(15 * 60_000)
    expect((await login(code())).status).toBe(200)
  })

  test('POST /api/auth/login: 401 when the code is of another account', async () => {
    const { login, web, settings, codeOf, recoveryCodes } = await withTwoFactor()
    void settings
    await web.request('/api/register', json('POST', { ...ADA, email: 'eve@example.com' }))
    const eve = { ...ADA, email: 'eve@example.com' }
    const signedIn = await web.request('/api/auth/login', json('POST', eve))
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const post = (action: string, body: unknown) =>
      web.request(`/api/settings/two-factor/${action}`, json('POST', body, { cookie }))
    const { secret } = await read(TwoFactorSetup, post('setup', PASSWORD))
    await post('enable', { code: codeOf(secret) })
    const tried = await web.request('/api/auth/login', json('POST', { ...eve, code: recoveryCodes[0] }))
    expect(tried.status).toBe(401)
    expect((await login(recoveryCodes[0])).status).toBe(200)
  })

  test('POST /api/auth/login: 400 when the code is not a string', async () => {
    const { login } = await withTwoFactor()
    const response = await login(123456)
    expect([response.status, await response.json()]).toEqual([400, { error: 'Invalid two-factor code' }])
  })

  test('a secret cannot be decrypted when it was moved to another account', async () => {
    const { platform, user, web } = await withTwoFactor()
    const passwordHash = await platform.passwords.hash(ADA.password)
    const stolen = { ...user(), id: 'usr_eve', email: 'eve@example.com', referralCode: null, passwordHash }
    const { write } = await import('../../../db/write.ts')
    await write(platform.db, (tx) =>
      tx
        .insert(users)
        .values({ name: 'Eve', createdAt: new Date(), updatedAt: new Date(), ...stolen, twoFactorStep: 0 })
        .run(),
    )
    const response = await web.request(
      '/api/auth/login',
      json('POST', { email: 'eve@example.com', password: ADA.password, code: '123456' }),
    )
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ error: 'Internal error' })
  })
})

describe('disable', () => {
  test.each(['code', 'recovery code'])(
    'POST /api/settings/two-factor/disable: 200 with password and %s; only the audit entry is left',
    async (kind) => {
      const { settings, status, login, code, recoveryCodes, user, audited } = await withTwoFactor()
      const given = kind === 'code' ? code() : recoveryCodes[3]
      const response = await settings('disable', { ...PASSWORD, code: given })
      expect([response.status, await response.json()]).toEqual([200, { success: true }])
      expect(await status()).toEqual({ enabled: false, recoveryCodesLeft: 0 })
      expect(user()).toMatchObject({ twoFactorSecret: null, twoFactorEnabledAt: null })
      expect(audited().at(-1)).toBe('two-factor.disable')
      expect((await login()).status).toBe(200)
    },
  )

  test.each<[string, (codes: { code: string }) => unknown, number, string]>([
    ['no password', ({ code }) => ({ code }), 400, 'Password required'],
    ['a wrong password', ({ code }) => ({ code, password: 'wrong horse' }), 401, 'Current password is incorrect'],
    ['no code', () => PASSWORD, 400, 'Code required'],
    ['a wrong code', () => ({ ...PASSWORD, code: '000000' }), 400, 'Invalid two-factor code'],
  ])(
    'POST /api/settings/two-factor/disable: an error when %s; two factors stay on',
    async (_what, body, status, error) => {
      const ada = await withTwoFactor()
      const response = await ada.settings('disable', body({ code: ada.code() }))
      expect([response.status, await response.json()]).toEqual([status, { error }])
      expect(await ada.status()).toEqual({ enabled: true, recoveryCodesLeft: 10 })
      expect(ada.audited()).toEqual(['two-factor.enable'])
    },
  )

  test('POST /api/settings/two-factor/disable: 409 when two factors are off', async () => {
    const { settings } = await withAda()
    expect((await settings('disable', { ...PASSWORD, code: '123456' })).status).toBe(409)
  })
})

describe('new recovery codes', () => {
  test('POST /api/settings/two-factor/recovery-codes: 200 with ten new codes; the old ones are invalid', async () => {
    const { settings, code, recoveryCodes, login, audited } = await withTwoFactor()
    const renewed = await read(RecoveryCodes, settings('recovery-codes', { code: code() }))
    expect(renewed.recoveryCodes).toHaveLength(10)
    expect(renewed.recoveryCodes.some((fresh) => recoveryCodes.includes(fresh))).toBe(false)
    expect(audited()).toEqual(['two-factor.enable', 'two-factor.renew-recovery-codes'])
    expect((await login(recoveryCodes[0])).status).toBe(401)
    expect((await login(renewed.recoveryCodes[0])).status).toBe(200)
  })

  test('POST /api/settings/two-factor/recovery-codes: 400 for a wrong code, 429 after ten, 409 when two factors are off', async () => {
    const { settings, code, recoveryCodes, login } = await withTwoFactor()
    for (let n = 0; n < 10; n++) expect((await settings('recovery-codes', { code: '000000' })).status).toBe(400)
    expect((await settings('recovery-codes', { code: code() })).status).toBe(429)
    expect((await login(recoveryCodes[0])).status).toBe(200)
    const off = await withAda()
    expect((await off.settings('recovery-codes', { code: '123456' })).status).toBe(409)
  })
})

test.each([
  ['GET', ''],
  ['POST', '/setup'],
  ['POST', '/enable'],
  ['POST', '/disable'],
  ['POST', '/recovery-codes'],
])('%s /api/settings/two-factor%s: 401 without a session, also with an sk_ key', async (method, path) => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  for (const headers of [{}, bearer(key)]) {
    const body = method === 'POST' ? '{"code":"123456"}' : null
    const init = { method, headers: { 'content-type': 'application/json', ...headers }, body }
    expect((await web.request(`/api/settings/two-factor${path}`, init)).status).toBe(401)
  }
})

test('POST /api/settings/two-factor/setup: 429 when one address exceeds its rate', async () => {
  const { web } = testPlatform({ environment: { RATE_LIMIT_PASSWORD: '1' } })
  await web.request('/api/settings/two-factor/setup', json('POST', {}))
  expect((await web.request('/api/settings/two-factor/setup', json('POST', {}))).status).toBe(429)
})

test('POST /api/register: 200 without the second factor that the request contains', async () => {
  const { web, platform } = testPlatform()
  const wishes = { twoFactorEnabled: true, twoFactorEnabledAt: 1, twoFactorSecret: 'x' }
  await web.request('/api/register', json('POST', { ...ADA, ...wishes }))
  const row = platform.db.select().from(users).where(eq(users.email, ADA.email)).get()
  expect(row).toMatchObject({ twoFactorSecret: null, twoFactorEnabledAt: null })
})
