import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { siweMessage } from '../../../../tests/harness/chain/siwe.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { atMostMs } from '../../../../tests/harness/speed/promised-times.ts'
import { openBrowser } from '../../../../tests/harness/web-client.ts'
import { write } from '../../../db/write.ts'
import { createKey } from '../keys/keys.ts'
import { insertUser } from '../registration/register.ts'
import { SessionResponse } from '../registration/schemas.ts'
import { users } from '../users/tables.ts'
import { NonceResponse } from './schemas.ts'
import { wallets } from './tables.ts'

const ADA = privateKeyToAccount(`0x${'a1'.repeat(32)}`)
const BO = privateKeyToAccount(`0x${'b0'.repeat(32)}`)
const WALLET_EMAIL = `${ADA.address.toLowerCase()}@wallet.localhost`
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** A platform and Ada, who has a wallet and a browser. */
function withWallet(environment: Record<string, string> = {}) {
  const platform = testPlatform({ environment })
  const browser = openBrowser(platform.web)
  const nonce = async () => (await read(NonceResponse, platform.web.request('/api/auth/nonce'))).nonce
  const message = async (change: Parameters<typeof siweMessage>[0] = {}) =>
    siweMessage({ address: ADA.address, nonce: await nonce(), issuedAt: platform.clock.now().toISOString(), ...change })
  const post = (body: unknown) => browser.request('/api/wallet-auth', json('POST', body))
  /** Signs a valid message after `change` modified it, as Ada. */
  const signIn = async (change: Parameters<typeof siweMessage>[0] = {}, by = ADA) => {
    const text = await message(change)
    return post({ address: ADA.address, message: text, signature: await by.signMessage({ message: text }) })
  }
  const whoIs = async () => (await read(SessionResponse, browser.request('/api/auth/session'))).user
  return { ...platform, browser, nonce, message, post, signIn, whoIs }
}

async function errorOf(response: Response) {
  return [response.status, await response.json()]
}

test('GET and POST /api/auth/nonce: 200 with a new nonce of at least 96 bits each time', async () => {
  const { web } = withWallet()
  const answers = [await web.request('/api/auth/nonce'), await web.request('/api/auth/nonce', { method: 'POST' })]
  const nonces = await Promise.all(answers.map((answer) => read(NonceResponse, answer)))
  for (const { nonce } of nonces) expect(nonce).toMatch(/^[0-9A-Za-z]{22}$/)
  expect(new Set(nonces.map(({ nonce }) => nonce)).size).toBe(2)
})

test('GET /api/auth/nonce: 429 when too many nonces are open', async () => {
  const { web } = withWallet({ RATE_LIMIT_LOGIN: '2' })
  for (const status of [200, 200, 429]) expect((await web.request('/api/auth/nonce')).status).toBe(status)
})

test('POST /api/wallet-auth: 200 with a new account and a session, without an RPC', async () => {
  const it = withWallet()
  const response = await it.signIn()
  expect(response.status).toBe(200)
  const name = `Wallet:${WALLET_EMAIL.slice(0, 6)}…${WALLET_EMAIL.slice(38, 42)}`
  expect(await response.json()).toEqual({ ok: true, user: { id: expect.stringMatching(/^usr_/), name } })
  expect(await it.whoIs()).toMatchObject({ name, email: WALLET_EMAIL })
  expect(it.platform.db.select().from(users).get()).toMatchObject({ passwordHash: null, emailVerifiedAt: null })
})

test('POST /api/wallet-auth: 200 with a cookie of 30 days that scripts cannot read', async () => {
  const it = withWallet()
  const [cookie = ''] = (await it.signIn()).headers.getSetCookie()
  expect(cookie.split('; ').sort()).toEqual([
    'HttpOnly',
    'Max-Age=2592000',
    'Path=/',
    'SameSite=Lax',
    expect.stringMatching(/^service-session=[0-9A-Za-z]{43}$/),
  ])
})

test('POST /api/wallet-auth: 200 and the same account, also when its e-mail has changed', async () => {
  const it = withWallet()
  await it.signIn()
  const first = await it.whoIs()
  await write(it.platform.db, (tx) => tx.update(users).set({ email: 'ada@example.com' }).run())
  expect((await it.signIn()).status).toBe(200)
  expect((await it.whoIs())?.id).toBe(first?.id ?? '')
  expect(countRows(it.platform.db)).toMatchObject({ users: 1, sign_in_wallets: 1 })
})

test('POST /api/wallet-auth: 200 and the same account when the wallet created it on another chain', async () => {
  const it = withWallet()
  const { id } = await write(it.platform.db, (tx) =>
    insertUser(tx, { email: WALLET_EMAIL, name: 'Ada', passwordHash: null }, { now: it.clock.now(), plan: null }),
  )
  await it.signIn()
  expect((await it.whoIs())?.id).toBe(id)
})

test('POST /api/wallet-auth: 200 and a password set for the wallet’s e-mail ends, with its session and keys', async () => {
  const it = withWallet()
  const { id } = await write(it.platform.db, (tx) =>
    insertUser(tx, { email: WALLET_EMAIL, name: 'Mallory', passwordHash: 'hash' }, { now: it.clock.now(), plan: null }),
  )
  const token = await it.platform.sessions.create(id)
  const { key } = await createKey(it.platform, id, { name: 'back door' })
  expect((await it.signIn()).status).toBe(200)
  expect(await it.platform.sessions.find(token)).toBeNull()
  expect(it.platform.verifyKey(key)).toBeNull()
  expect(it.platform.db.select().from(users).get()?.passwordHash).toBeNull()
})

test('POST /api/register: 400 when the e-mail is one of a wallet', async () => {
  const { web } = withWallet()
  const response = await web.request(
    '/api/register',
    json('POST', { email: WALLET_EMAIL, password: 'correct horse battery' }),
  )
  expect(response.status).toBe(400)
})

test.each([
  [{}],
  [{ address: ADA.address, message: 'm' }],
  [{ address: ADA.address, signature: '0x' }],
  [{ message: 'm', signature: '0x' }],
  [{ address: '', message: 'm', signature: '0x' }],
  [{ address: 1, message: [], signature: {} }],
])('POST /api/wallet-auth: 400 when the body is %j', async (body) => {
  const { post } = withWallet()
  expect(await errorOf(await post(body))).toEqual([400, { error: 'Missing: address, message, signature' }])
})

test('POST /api/wallet-auth: 400 when the message has no nonce or is too long', async () => {
  const { post } = withWallet()
  const body = { address: ADA.address, signature: '0x00' }
  expect(await errorOf(await post({ ...body, message: 'Sign in' }))).toEqual([
    400,
    { error: 'Missing nonce in signed message' },
  ])
  expect((await post({ ...body, message: `Nonce: ${'n'.repeat(4096)}` })).status).toBe(400)
})

const INVALID_NONCE = [401, { error: 'Invalid or expired nonce' }]
const INVALID_SIGNATURE = [401, { error: 'Invalid signature' }]

test('POST /api/wallet-auth: 401 when the nonce is invented, expired or used', async () => {
  const it = withWallet()
  expect(await errorOf(await it.signIn({ nonce: 'madeUpByTheCaller1234' }))).toEqual(INVALID_NONCE)

  const nonce = await it.nonce()
  expect((await it.signIn({ nonce })).status).toBe(200)
  expect(await errorOf(await it.signIn({ nonce }))).toEqual(INVALID_NONCE)

  const old = await it.nonce()
  it.clock.advance(600_000)
  expect(await errorOf(await it.signIn({ nonce: old }))).toEqual(INVALID_NONCE)
})

test('POST /api/wallet-auth: 401 when the nonce was used by a failed sign-in', async () => {
  const it = withWallet()
  const nonce = await it.nonce()
  expect(await errorOf(await it.signIn({ nonce }, BO))).toEqual(INVALID_SIGNATURE)
  expect(await errorOf(await it.signIn({ nonce }))).toEqual(INVALID_NONCE)
})

test('POST /api/wallet-auth: 200 for one of 200 concurrent requests with one nonce', async () => {
  const it = withWallet()
  const text = await it.message()
  const body = { address: ADA.address, message: text, signature: await ADA.signMessage({ message: text }) }
  const answers = await Promise.all(Array.from({ length: 200 }, () => it.post(body)))
  const statuses = answers.map((answer) => answer.status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses.filter((status) => status === 401)).toHaveLength(199)
  expect(countRows(it.platform.db)).toMatchObject({ users: 1, sessions: 1, wallet_nonces: 0 })
})

test('POST /api/wallet-auth: 200 and one account when a new wallet signs in 20 times at once', async () => {
  const it = withWallet()
  const answers = await Promise.all(Array.from({ length: 20 }, () => it.signIn()))
  expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200))
  expect(countRows(it.platform.db)).toMatchObject({ users: 1, sign_in_wallets: 1 })
})

const minutes = (count: number) => new Date(Date.now() + count * 60_000).toISOString()
type Change = Parameters<typeof siweMessage>[0]

test.each<[string, Change]>([
  ['D2: another domain', { domain: 'evil.example' }],
  ['D2: a subdomain', { domain: 'app.localhost:3000' }],
  ['D2: our domain as the start of another', { domain: 'localhost:3000.evil.example' }],
  ['D2: without the port', { domain: 'localhost' }],
  ['D2: another port', { domain: 'localhost:3001' }],
  ['D2: in capitals', { domain: 'LOCALHOST:3000' }],
  ['D2: another scheme', { domain: 'https://localhost:3000' }],
  ['D2: another address in the URI', { uri: 'http://evil.example/login' }],
  ['D2: our address as the user of another', { uri: 'http://localhost:3000@evil.example/' }],
  ['D2: our address as the start of another', { uri: 'http://localhost:30001/' }],
  ['D2: https', { uri: 'https://localhost:3000/login' }],
  ['D3: chain 1', { chainId: 1 }],
  ['D3: chain 0', { chainId: 0 }],
  ['D3: chain 4217', { chainId: 4217 }],
  ['D3: our chain and a space', { chainId: '8453 ' }],
  ['D3: our chain in hex', { chainId: '0x2105' }],
  ['D4: issued eleven minutes ago', { issuedAt: minutes(-11) }],
  ['D4: issued in 2020', { issuedAt: '2020-01-01T00:00:00.000Z' }],
  ['D4: issued in two minutes', { issuedAt: minutes(2) }],
  ['D4: issued on a day that is none', { issuedAt: '2026-02-30T00:00:00Z' }],
  ['D4: issued at no time', { issuedAt: 'now' }],
  ['D4: expired', { more: [`Expiration Time: ${minutes(-1)}`] }],
  ['D4: expires on a day that is none', { more: ['Expiration Time: 2026-02-30T00:00:00Z'] }],
  ['D4: not before a minute from now', { more: [`Not Before: ${minutes(1)}`] }],
  ['D4: not before a time that is none', { more: ['Not Before: soon'] }],
  ['version 2', { version: 2 }],
  ['a line too many', { more: ['Admin: true'] }],
])('POST /api/wallet-auth: 401 when given %s', async (_what, change) => {
  const it = withWallet()
  expect(await errorOf(await it.signIn(change))).toEqual(INVALID_SIGNATURE)
  expect(countRows(it.platform.db)).toMatchObject({ users: 0, sessions: 0, wallet_nonces: 0 })
})

test.each<[string, Change]>([
  ['nine minutes old', { issuedAt: minutes(-9) }],
  ['half a minute ahead', { issuedAt: minutes(0.5) }],
  ['in another time zone', { issuedAt: minutes(120).replace('Z', '+02:00') }],
  ['not expired', { more: [`Expiration Time: ${minutes(5)}`, `Not Before: ${minutes(-5)}`] }],
  ['without a statement', { statement: null }],
  ['with a statement that looks like a nonce', { statement: 'Nonce: aaaaaaaaaaaaaaaaaaaaaa' }],
  ['with resources', { more: ['Resources:', '- https://example.com/terms'] }],
  ['with our scheme', { domain: 'http://localhost:3000' }],
  ['for our origin', { uri: 'http://localhost:3000' }],
  ['with the address in lower case', { address: ADA.address.toLowerCase() }],
])('POST /api/wallet-auth: 200 when the message %s', async (_what, change) => {
  expect((await withWallet().signIn(change)).status).toBe(200)
})

test('POST /api/wallet-auth: 401 when the text is no message of EIP-4361', async () => {
  const it = withWallet()
  const message = `Sign in to Stead\nWallet: ${ADA.address}\nNonce: ${await it.nonce()}\nTime: ${minutes(0)}`
  const signature = await ADA.signMessage({ message })
  expect(await errorOf(await it.post({ address: ADA.address, message, signature }))).toEqual(INVALID_SIGNATURE)
})

test('POST /api/wallet-auth: 401 when address, message and signer differ', async () => {
  const it = withWallet()
  const sign = async (address: string, message: string, by: typeof ADA) =>
    errorOf(await it.post({ address, message, signature: await by.signMessage({ message }) }))
  const mismatch = [401, { error: 'Signed wallet address mismatch' }]
  expect(await sign(BO.address, await it.message(), ADA)).toEqual(mismatch)
  expect(await sign(BO.address, await it.message(), BO)).toEqual(mismatch)
  expect(await sign(ADA.address, await it.message({ address: BO.address }), ADA)).toEqual(mismatch)
  expect(await sign(ADA.address, await it.message(), BO)).toEqual(INVALID_SIGNATURE)
  expect(await sign('0x1234', await it.message(), ADA)).toEqual(mismatch)
  expect((await sign(ADA.address.toLowerCase(), await it.message(), ADA))[0]).toBe(200)
})

test('POST /api/wallet-auth: 401 when the signature is of another message', async () => {
  const it = withWallet()
  const signature = await ADA.signMessage({ message: await it.message() })
  const body = { address: ADA.address, message: await it.message(), signature }
  expect(await errorOf(await it.post(body))).toEqual(INVALID_SIGNATURE)
})

const highS = (signature: Hex): Hex => {
  const [r, s, v] = [signature.slice(2, 66), BigInt(`0x${signature.slice(66, 130)}`), signature.slice(130)]
  return `0x${r}${(CURVE_ORDER - s).toString(16).padStart(64, '0')}${v === '1b' ? '1c' : '1b'}`
}
test.each<[string, (signature: Hex) => string]>([
  ['its other form, with a high s', highS],
  ['64 bytes', (signature) => signature.slice(0, -2)],
  ['66 bytes', (signature) => `${signature}00`],
  ['half a byte', (signature) => `${signature}0`],
  ['no bytes', () => '0x'],
  ['zeroes', () => `0x${'00'.repeat(65)}`],
  ['another v', (signature) => `${signature.slice(0, -2)}1d`],
  ['no hex', (signature) => `${signature.slice(0, -2)}zz`],
  ['no 0x', (signature) => signature.slice(2)],
  ['17 KB', () => `0x${'ab'.repeat(17 * 1024)}`],
  ['900 KB', () => `0x${'ab'.repeat(450 * 1024)}`],
])('POST /api/wallet-auth: 401 at once when the signature is %s', async (_what, change) => {
  const it = withWallet()
  await it.signIn()
  it.browser.cookies.clear()
  const message = await it.message()
  const signature = change(await ADA.signMessage({ message }))
  const startedAt = performance.now()
  expect(await errorOf(await it.post({ address: ADA.address, message, signature }))).toEqual(INVALID_SIGNATURE)
  expect(performance.now() - startedAt).toBeLessThan(atMostMs(500))
})

test('POST /api/wallet-auth: 200 when v is 0 or 1 instead of 27 or 28', async () => {
  const it = withWallet()
  const message = await it.message()
  const signature = await ADA.signMessage({ message })
  const v = signature.endsWith('1b') ? '00' : '01'
  const body = { address: ADA.address, message, signature: `${signature.slice(0, -2)}${v}` }
  expect((await it.post(body)).status).toBe(200)
})

test('POST /api/wallet-auth: 403 when sign-up is closed, 200 when the wallet has an account', async () => {
  const it = withWallet({ SIGN_UP: 'closed' })
  expect(await errorOf(await it.signIn())).toEqual([403, { error: 'Sign-up is closed' }])
  const { id } = await write(it.platform.db, (tx) =>
    insertUser(tx, { email: 'ada@example.com', name: 'Ada', passwordHash: null }, { now: it.clock.now(), plan: null }),
  )
  await write(it.platform.db, (tx) =>
    tx
      .insert(wallets)
      .values({ chainId: 8453, address: ADA.address.toLowerCase(), userId: id, createdAt: it.clock.now() })
      .run(),
  )
  expect((await it.signIn()).status).toBe(200)
})

test('POST /api/wallet-auth: 403 when the account is disabled', async () => {
  const it = withWallet()
  await it.signIn()
  await write(it.platform.db, (tx) =>
    tx.update(users).set({ disabledAt: it.clock.now() }).where(eq(users.email, WALLET_EMAIL)).run(),
  )
  expect((await it.signIn()).status).toBe(403)
})
