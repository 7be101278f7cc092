import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { type MailingPlatform, mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { createKey } from '../keys/keys.ts'
import { users } from '../users/tables.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const NEXT = 'another battery staple'
const HOUR_MS = 3_600_000
const ANSWER = { message: 'If an account exists, a reset link has been sent' }

const forgot = ({ web }: Pick<MailingPlatform, 'web'>, body: unknown, headers = {}) =>
  web.request('/api/auth/forgot-password', json('POST', body, headers))
const reset = ({ web }: Pick<MailingPlatform, 'web'>, token: string, password = NEXT) =>
  web.request('/api/auth/reset-password', json('POST', { token, password }))

/** Asks for a link and waits for the mail; `count` is how many of them have come then. */
async function askForLink(test: MailingPlatform, count = 1): Promise<string> {
  await forgot(test, { email: ADA.email })
  const mail = await test.arrival(ADA.email, 'Reset your password', count)
  return tokenIn(mail.text)
}

function allDone({ platform }: MailingPlatform) {
  const isDone = () =>
    platform.db
      .select()
      .from(jobs)
      .all()
      .every(({ status }) => status === 'done')
  return until('all jobs are done', isDone)
}

function tokenIn(text: string): string {
  return new URL(/https?:\/\/\S+/.exec(text)?.[0] ?? '').searchParams.get('token') ?? ''
}

test('POST /api/auth/reset-password: 200 with a mailed link ends all sessions and verifies the address', async () => {
  await using test = await mailingPlatform()
  const { cookie } = await test.signUp(ADA.email, ADA.password)
  const { id = '' } = test.platform.db.select().from(users).get() ?? {}
  for (let count = 1; count < 50; count++) await test.platform.sessions.create(id)

  const asked = await forgot(test, { email: ' ADA@example.com' })
  expect(asked.status).toBe(200)
  expect(await asked.json()).toEqual(ANSWER)
  const mail = await test.arrival(ADA.email, 'Reset your password')
  const link = new URL(/https:\/\/\S+/.exec(mail.text)?.[0] ?? '')
  expect(link.origin + link.pathname).toBe('https://stead.example/reset-password')
  expect(mail.html).toContain(`href="${link.href}"`)

  const done = await reset(test, link.searchParams.get('token') ?? '')
  expect(done.status).toBe(200)
  expect(await done.json()).toEqual({ message: 'Password reset successfully' })
  expect(countRows(test.platform.db).sessions).toBe(0)
  expect((await test.web.request('/api/settings', { headers: { cookie } })).status).toBe(401)
  expect(await test.login(ADA.email, ADA.password)).toBe('')
  expect(await test.login(ADA.email, NEXT)).not.toBe('')
  expect(test.platform.db.select().from(users).get()?.emailVerifiedAt).toEqual(test.clock.now())
})

test('POST /api/auth/reset-password: 200 and the account’s keys are deleted only on request', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  const { id = '' } = test.platform.db.select().from(users).get() ?? {}
  const { key } = await createKey(test.platform, id, { name: 'laptop' })
  expect((await reset(test, await askForLink(test))).status).toBe(200)
  expect(test.platform.verifyKey(key)).not.toBeNull()

  const body = { token: await askForLink(test, 2), password: 'a third staple', endKeys: true }
  const done = await test.web.request('/api/auth/reset-password', json('POST', body))
  expect(done.status).toBe(200)
  expect(await done.json()).toEqual({ message: 'Password reset successfully', keysEnded: 1 })
  expect(test.platform.verifyKey(key)).toBeNull()
})

test('POST /api/auth/reset-password: 400 when the link is an hour old', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  const first = await askForLink(test, 1)
  test.clock.advance(HOUR_MS + 1000)
  const late = await reset(test, first)
  expect(late.status).toBe(400)
  expect(await late.json()).toEqual({ error: 'Invalid or expired reset link' })
  const second = await askForLink(test, 2)
  test.clock.advance(HOUR_MS - 1000)
  expect((await reset(test, second)).status).toBe(200)
})

test('POST /api/auth/reset-password: 200 once when a link is used 100 times at once', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  const token = await askForLink(test)
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => (await reset(test, token, `new password ${index}`)).status),
  )
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  // Requests beyond the hasher's waiting line get 429.
  expect(statuses.filter((status) => ![200, 400, 429].includes(status))).toEqual([])
  expect((await reset(test, token)).status).toBe(400)
})

test('POST /api/auth/reset-password: 200 when others’ failed attempts locked the owner out, who then signs in', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  for (let count = 0; count < 11; count++) await test.login(ADA.email, 'a wrong guess')
  expect(await test.login(ADA.email, ADA.password)).toBe('')
  expect((await reset(test, await askForLink(test))).status).toBe(200)
  expect(await test.login(ADA.email, NEXT)).not.toBe('')
})

test('POST /api/auth/reset-password: 400 when a link is used or a newer one was sent', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  const first = await askForLink(test, 1)
  const second = await askForLink(test, 2)
  expect((await reset(test, first)).status).toBe(400)
  expect((await reset(test, second)).status).toBe(200)
  expect((await reset(test, second)).status).toBe(400)
})

test('the database contains no token while its link is valid', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  const token = await askForLink(test)
  expect(token).toMatch(/^[0-9A-Za-z]{43}$/)
  const dump = dumpTables(test.platform.db)
  expect(dump).toContain('reset-password')
  expect(dump).not.toContain(token)
  expect(test.logLines.join('')).not.toContain(token)
  expect((await reset(test, token)).status).toBe(200)
})

test('a reset link has the configured host, whatever the request names', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  const evil = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' }
  await forgot(test, { email: ADA.email }, evil)
  const mail = await test.arrival(ADA.email, 'Reset your password')
  expect(mail.raw).not.toContain('evil.example')
  expect(test.mail.linkTo(ADA.email).origin).toBe('https://stead.example')
})

test('POST /api/auth/forgot-password: 200 with the same answer and rows, and no mail, when the address is unknown', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  await test.arrival(ADA.email, 'Confirm')
  const traces: unknown[] = []
  for (const email of [ADA.email, 'nobody@example.com']) {
    const before = countRows(test.platform.db)
    const response = await forgot(test, { email })
    const after = countRows(test.platform.db)
    traces.push({
      status: response.status,
      body: await response.json(),
      jobs: (after.jobs ?? 0) - (before.jobs ?? 0),
      throttles: (after.throttles ?? 0) - (before.throttles ?? 0),
    })
  }
  expect(traces[0]).toEqual({ status: 200, body: ANSWER, jobs: 1, throttles: 2 })
  expect(traces[1]).toEqual(traces[0])
  await allDone(test)
  expect(test.mail.received.map(({ to }) => to[0])).toEqual([ADA.email, ADA.email])
  expect(dumpTables(test.platform.db)).not.toContain('nobody@example.com')
})

test('POST /api/auth/forgot-password: 200 at once when the mail server is down, which gets the mail later', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  await test.arrival(ADA.email, 'Confirm')
  test.mail.refuse('out of order')
  const response = await forgot(test, { email: ADA.email })
  expect(response.status).toBe(200)
  const waiting = () =>
    test.platform.db
      .select()
      .from(jobs)
      .all()
      .find(({ lastError }) => lastError !== null)
  const job = await until('the job has failed', waiting)
  expect(job).toMatchObject({
    kind: 'accounts.mail',
    status: 'queued',
    lastError: expect.stringContaining('out of order'),
  })
  test.mail.refuse(null)
  test.clock.advance(1000)
  const mail = await test.arrival(ADA.email, 'Reset your password')
  expect((await reset(test, tokenIn(mail.text))).status).toBe(200)
})

test('POST /api/auth/forgot-password: 200 and at most ten mails an hour per mailbox, five of them for one caller', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  const mails = async () => {
    await allDone(test)
    return test.mail.received.filter(({ subject }) => subject === 'Reset your password').length
  }
  for (const [address, expected] of [
    ['203.0.113.7', 5],
    ['2001:db8::1', 10],
    ['203.0.113.9', 10],
  ] as const) {
    for (let count = 1; count <= 7; count++) {
      const response = await test
        .api('web', { address })
        .request('/api/auth/forgot-password', json('POST', { email: ADA.email }))
      expect(await response.json()).toEqual(ANSWER)
      // Of several links that wait for the mail server only one is sent.
      await allDone(test)
    }
    expect(await mails()).toBe(expected)
  }
})

test('POST /api/auth/forgot-password: 200 and no mail when the account is closed or of a wallet', async () => {
  await using test = await mailingPlatform()
  const closed = await test.signIn('closed@example.com')
  const wallet = await test.signIn(`0x${'a'.repeat(40)}@wallet.localhost`)
  await write(test.platform.db, (tx) =>
    tx.update(users).set({ disabledAt: test.clock.now() }).where(eq(users.id, closed.user.id)).run(),
  )
  for (const { user } of [closed, wallet]) {
    expect(await (await forgot(test, { email: user.email })).json()).toEqual(ANSWER)
  }
  await allDone(test)
  expect(test.mail.received).toEqual([])
})

test.each([
  [{}, 400, 'Email is required'],
  [{ email: '' }, 400, 'Email is required'],
  [{ email: 7 }, 400, 'Email is required'],
  [{ email: 'nobody' }, 400, 'Invalid email format'],
  [{ email: 'a@b.example\r\nBcc: eve@example.com' }, 400, 'Invalid email format'],
  [{ email: ADA.email, website: 'https://spam.example' }, 403, 'Access denied'],
])('POST /api/auth/forgot-password: when the body is %j, %d and no job', async (body, status, error) => {
  const test = testPlatform({ environment: { SMTP_URL: 'smtp://127.0.0.1:1' } })
  const response = await forgot(test, body)
  expect(response.status).toBe(status)
  expect(await response.json()).toEqual({ error })
  expect(countRows(test.platform.db).jobs).toBe(0)
})

test('POST /api/auth/forgot-password: 403 when the user agent is a crawler', async () => {
  const test = testPlatform()
  const response = await forgot(test, { email: ADA.email }, { 'user-agent': 'Googlebot/2.1' })
  expect(response.status).toBe(403)
})

test.each(['forgot-password', 'reset-password'])(
  'POST /api/auth/%s: 429 when one address exceeds its rate',
  async (path) => {
    const { api } = testPlatform({ environment: { RATE_LIMIT_PASSWORD: '2' } })
    const ask = (address: string) => api('web', { address }).request(`/api/auth/${path}`, json('POST', {}))
    await ask('203.0.113.1')
    await ask('203.0.113.1')
    const refused = await ask('203.0.113.1')
    expect(refused.status).toBe(429)
    expect(await refused.json()).toEqual({ error: 'Too many requests' })
    expect((await ask('203.0.113.2')).status).toBe(400)
  },
)

test('POST /api/auth/forgot-password: 503 in production when no mail server is set', async () => {
  const test = testPlatform({ environment: { NODE_ENV: 'production' } })
  await test.web.request('/api/register', json('POST', ADA))
  const before = countRows(test.platform.db)
  for (const email of [ADA.email, 'nobody@example.com']) {
    const response = await forgot(test, { email })
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({
      error: 'Mail is not configured: set SMTP_URL',
      code: 'NOT_CONFIGURED',
    })
  }
  expect(countRows(test.platform.db)).toEqual(before)
})

test('POST /api/auth/forgot-password: 200 in development without mail, with the link in the log', async () => {
  const test = testPlatform()
  await using _jobs = startJobs(test.platform)
  await test.web.request('/api/register', json('POST', ADA))
  for (const email of [ADA.email, 'nobody@example.com']) {
    const message = 'This server sends no mail. If an account exists, a reset link was written to its log'
    expect(await (await forgot(test, { email })).json()).toEqual({ message })
  }
  const line = await until('the log has a link', () =>
    test.logLines.find((line) => line.includes('/reset-password?token=')),
  )
  expect(JSON.parse(line)).toMatchObject({ level: 30, to: ADA.email })
  expect((await reset(test, tokenIn(JSON.parse(line).text))).status).toBe(200)
})

test.each([
  [{}, 'Token and password are required'],
  [{ token: 'x' }, 'Token and password are required'],
  [{ password: NEXT }, 'Token and password are required'],
  [{ token: '', password: NEXT }, 'Token and password are required'],
  [{ token: 'x', password: 'short77' }, 'Password must be at least 8 characters'],
  [{ token: 'x', password: 'password123' }, 'Password is too common'],
  [{ token: 'x', password: NEXT }, 'Invalid or expired reset link'],
  [{ token: 'x'.repeat(600), password: NEXT }, 'Invalid or expired reset link'],
])('POST /api/auth/reset-password: 400 when the body is %j, without hashing', async (body, error) => {
  const { web, platform } = testPlatform()
  const response = await web.request('/api/auth/reset-password', json('POST', body))
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
  expect(platform.passwords.calls).toBe(0)
})

test('POST /api/auth/reset-password: 400 when the link is for verifying an address', async () => {
  await using test = await mailingPlatform()
  await test.signUp(ADA.email, ADA.password)
  const mail = await test.arrival(ADA.email, 'Confirm your email')
  expect((await reset(test, tokenIn(mail.text))).status).toBe(400)
  expect(await test.login(ADA.email, ADA.password)).not.toBe('')
})
