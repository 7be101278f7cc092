import { expect, test } from 'bun:test'
import { type MailingPlatform, mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import { jobs } from '../../../jobs/tables.ts'
import { SessionResponse } from '../registration/schemas.ts'
import { Settings } from '../settings/schemas.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const BOSS = 'boss@example.com'
const DAY_MS = 86_400_000

/** Ada, who has registered and whose verification mail has come. */
async function withAda(environment: Record<string, string> = {}) {
  const test = await mailingPlatform({ environment: { ADMIN_EMAILS: BOSS, ...environment } })
  const cookie = await test.signUp(ADA.email, ADA.password)
  await test.arrival(ADA.email, 'Confirm your email')
  return {
    ...test,
    cookie,
    settings: () => read(Settings, test.web.request('/api/settings', { headers: cookie })),
    who: async () => (await read(SessionResponse, test.web.request('/api/auth/session', { headers: cookie }))).user,
    change: (email: string) => test.web.request('/api/settings', json('POST', { email }, cookie)),
    send: () => test.web.request('/api/auth/verify-email/send', { method: 'POST', headers: cookie }),
  }
}

const verify = ({ web }: Pick<MailingPlatform, 'web'>, link: URL) =>
  web.request('/api/auth/verify-email', json('POST', { token: link.searchParams.get('token') }))

test('POST /api/register: 200 and a mail with a link that verifies the address once', async () => {
  await using ada = await withAda()
  expect(await ada.settings()).toMatchObject({ emailVerified: false })
  const link = ada.mail.linkTo(ADA.email)
  expect(link.origin + link.pathname).toBe('https://stead.example/verify-email')
  expect(dumpTables(ada.platform.db)).not.toContain(link.searchParams.get('token') ?? '')
  const response = await verify(ada, link)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ message: 'Email verified successfully' })
  expect(await ada.settings()).toMatchObject({ emailVerified: true })
  const again = await verify(ada, link)
  expect(again.status).toBe(400)
  expect(await again.json()).toEqual({ error: 'Invalid or expired verification link' })
})

test('an address in ADMIN_EMAILS makes an administrator only when it is verified', async () => {
  await using test = await mailingPlatform({ environment: { ADMIN_EMAILS: BOSS } })
  const cookie = await test.signUp(BOSS, ADA.password)
  const isAdmin = async () =>
    (await read(SessionResponse, test.web.request('/api/auth/session', { headers: cookie }))).user?.isAdmin
  await test.arrival(BOSS, 'Confirm your email')
  expect(await isAdmin()).toBe(false)
  expect((await verify(test, test.mail.linkTo(BOSS))).status).toBe(200)
  expect(await isAdmin()).toBe(true)
})

test('POST /api/auth/verify-email/send: 200 with a new link by mail, which replaces the last and expires after a day', async () => {
  await using ada = await withAda()
  const first = ada.mail.linkTo(ADA.email)
  const sent = await ada.send()
  expect(sent.status).toBe(200)
  expect(await sent.json()).toEqual({ message: 'A verification link has been sent' })
  await ada.arrival(ADA.email, 'Confirm your email', 2)
  expect((await verify(ada, first)).status).toBe(400)
  ada.clock.advance(DAY_MS)
  expect((await verify(ada, ada.mail.linkTo(ADA.email))).status).toBe(400)
  await ada.send()
  await ada.arrival(ADA.email, 'Confirm your email', 3)
  ada.clock.advance(DAY_MS - 1)
  expect((await verify(ada, ada.mail.linkTo(ADA.email))).status).toBe(200)
  expect(await (await ada.send()).json()).toEqual({ message: 'Email already verified' })
})

test('POST /api/auth/verify-email/send: 401 without credentials, 429 after ten an hour', async () => {
  await using ada = await withAda()
  expect((await ada.web.request('/api/auth/verify-email/send', { method: 'POST' })).status).toBe(401)
  const statuses = []
  for (let count = 0; count < 11; count++) statuses.push((await ada.send()).status)
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429])
})

test('POST /api/auth/verify-email/send: 503 in production when no mail server is set', async () => {
  const { web, signIn, platform } = testPlatform({ environment: { NODE_ENV: 'production' } })
  const { cookie } = await signIn()
  const response = await web.request('/api/auth/verify-email/send', { method: 'POST', headers: cookie })
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({ code: 'NOT_CONFIGURED' })
  expect(countRows(platform.db).jobs).toBe(0)
})

test.each([
  [{}, 'Token is required'],
  [{ token: '' }, 'Token is required'],
  [{ token: 5 }, 'Token is required'],
  [{ token: 'made-up' }, 'Invalid or expired verification link'],
])('POST /api/auth/verify-email: 400 for %j', async (body, error) => {
  const { web } = testPlatform()
  const response = await web.request('/api/auth/verify-email', json('POST', body))
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
})

test('POST /api/auth/verify-email/send: 200 in development without mail, with a note that the link is in the log', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request('/api/auth/verify-email/send', { method: 'POST', headers: cookie })
  expect(await response.json()).toEqual({
    message: 'This server sends no mail. A verification link was written to its log',
  })
})

test('POST /api/register: sends no link when no mail server is set', async () => {
  const { web, platform } = testPlatform()
  await web.request('/api/register', json('POST', ADA))
  expect(countRows(platform.db).jobs).toBe(0)
})

test('POST /api/settings: 200 for a new address, which replaces the old one only when its link is followed', async () => {
  await using ada = await withAda()
  const asked = await ada.change('New@example.com')
  expect(asked.status).toBe(200)
  expect(await asked.json()).toMatchObject({ email: ADA.email, pendingEmail: 'new@example.com' })
  const notice = await ada.arrival(ADA.email, 'about to change')
  expect(notice.text).not.toContain('http')
  await ada.arrival('new@example.com', 'Confirm your new email')
  expect(await ada.login('new@example.com', ADA.password)).toBe('')
  expect(await ada.login(ADA.email, ADA.password)).not.toBe('')

  const link = ada.mail.linkTo('new@example.com')
  expect(dumpTables(ada.platform.db)).not.toContain(link.searchParams.get('token') ?? '')
  expect(await (await verify(ada, link)).json()).toEqual({ message: 'Email changed successfully' })
  expect(await ada.settings()).toMatchObject({ email: 'new@example.com', pendingEmail: null, emailVerified: true })
  expect(await ada.login('new@example.com', ADA.password)).not.toBe('')
  expect(await ada.login(ADA.email, ADA.password)).toBe('')
  await ada.arrival(ADA.email, 'was changed')
  expect((await verify(ada, link)).status).toBe(400)
})

test('an address in ADMIN_EMAILS gives no rights until it is verified, even if the old address was verified', async () => {
  await using ada = await withAda()
  await verify(ada, ada.mail.linkTo(ADA.email))
  expect((await ada.change(BOSS)).status).toBe(200)
  expect(await ada.who()).toMatchObject({ email: ADA.email, isAdmin: false })
  await ada.arrival(BOSS, 'Confirm your new email')
  expect(await ada.who()).toMatchObject({ email: ADA.email, isAdmin: false })
  expect((await verify(ada, ada.mail.linkTo(BOSS))).status).toBe(200)
  expect(await ada.who()).toMatchObject({ email: BOSS, isAdmin: true })
})

test('POST /api/settings: 200 for another address replaces a waiting one, and the current address cancels it', async () => {
  await using ada = await withAda()
  await ada.change('first@example.com')
  await ada.arrival('first@example.com', 'Confirm your new email')
  await ada.change('second@example.com')
  await ada.arrival('second@example.com', 'Confirm your new email')
  expect((await verify(ada, ada.mail.linkTo('first@example.com'))).status).toBe(400)
  expect(await ada.settings()).toMatchObject({ pendingEmail: 'second@example.com' })
  await ada.change(ADA.email)
  expect(await ada.settings()).toMatchObject({ pendingEmail: null })
  expect((await verify(ada, ada.mail.linkTo('second@example.com'))).status).toBe(400)
  expect(await ada.settings()).toMatchObject({ email: ADA.email })
})

test('POST /api/auth/verify-email: 409 when another account took the address in the meantime; nothing changes', async () => {
  await using ada = await withAda()
  await ada.change('new@example.com')
  await ada.arrival('new@example.com', 'Confirm your new email')
  const link = ada.mail.linkTo('new@example.com')
  await ada.signUp('new@example.com', ADA.password)
  const response = await verify(ada, link)
  expect(response.status).toBe(409)
  expect(await response.json()).toEqual({ error: 'Email already in use' })
  expect(await ada.settings()).toMatchObject({ email: ADA.email })
})

test('POST /api/auth/verify-email: 400 when the link was mailed to the old address before the change', async () => {
  await using ada = await withAda()
  const old = ada.mail.linkTo(ADA.email)
  await ada.change('new@example.com')
  await ada.arrival('new@example.com', 'Confirm your new email')
  await verify(ada, ada.mail.linkTo('new@example.com'))
  expect((await verify(ada, old)).status).toBe(400)
  expect(countRows(ada.platform.db).email_tokens).toBe(0)
})

test('POST /api/settings: 429 after ten changes of address in an hour', async () => {
  await using ada = await withAda()
  const statuses = []
  for (let count = 0; count < 11; count++) statuses.push((await ada.change(`new${count}@example.com`)).status)
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429])
})

test("POST /api/settings: 200 for the address of a wallet's account; nothing is mailed to the wallet", async () => {
  await using test = await mailingPlatform()
  const { cookie } = await test.signIn(`0x${'a'.repeat(40)}@wallet.localhost`)
  await test.web.request('/api/settings', json('POST', { email: ADA.email }, cookie))
  await test.arrival(ADA.email, 'Confirm your new email')
  expect((await verify(test, test.mail.linkTo(ADA.email))).status).toBe(200)
  await until('all jobs are done', () =>
    test.platform.db
      .select()
      .from(jobs)
      .all()
      .every(({ status }) => status === 'done'),
  )
  expect(test.mail.received.map(({ to }) => to)).toEqual([[ADA.email]])
})
