import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { SMTPServer } from 'smtp-server'
import { startMailServer } from '../../../../tests/harness/doubles/mail-server.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { serviceCredentials } from '../../accounts/service-credentials/tables.ts'
import { users } from '../../accounts/users/tables.ts'
import { Services } from './schemas.ts'

const KEY = 'sk-or-v1-0123456789abcdef'
const PATH = '/api/admin/services'

/** An installation without providers and mail in its settings, and its administrator. */
async function openServices(environment: Record<string, string> = {}) {
  const provider = await startProvider()
  const test = testPlatform({
    environment: { ADMIN_EMAILS: 'ada@example.com', OPENROUTER_BASE_URL: provider.baseUrl, ...environment },
    openProvider: (id, apiKey) =>
      id === 'openrouter'
        ? createHttpProvider({ id, baseUrl: provider.baseUrl, apiKey, timeoutMs: 10_000 }, { fetch })
        : null,
    fetch,
  })
  const ada = await test.signIn('ada@example.com')
  const send = (method: 'PUT' | 'DELETE', path: string, body?: unknown) =>
    test.web.request(`${PATH}${path}`, json(method, body, ada.cookie))
  return { ...test, ada, send, provider, [Symbol.asyncDispose]: () => provider.stop() }
}

test('PUT and DELETE /api/admin/services/providers/:id: 200 when the key works; it is used at once, encrypted, never returned, and audited', async () => {
  await using installation = await openServices()
  const { platform, web, ada, send, provider } = installation
  const models = () => platform.catalogue.list().length
  expect(models()).toBe(0)
  const before = Services.parse(await (await web.request(PATH, { headers: ada.cookie })).json())
  expect(before).toMatchObject({ mail: { source: null, server: null, from: null } })
  expect(before.providers).toContainEqual({ id: 'openrouter', source: null, models: 0 })

  const set = await send('PUT', '/providers/openrouter', { apiKey: KEY })
  expect(set.status).toBe(200)
  const reported = await set.text()
  expect(JSON.parse(reported).providers).toContainEqual({ id: 'openrouter', source: 'dashboard', models: 4 })
  expect(reported).not.toContain(KEY)
  expect(models()).toBe(4)
  const [target] = platform.catalogue.offers('openai/gpt-4o-mini')
  const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }
  await target?.provider.complete({ dialect: 'chat', body, json: JSON.stringify(body) }, AbortSignal.timeout(10_000))
  expect(provider.chats.at(-1)?.headers.authorization).toBe(`Bearer ${KEY}`)
  const [row] = platform.db.select().from(serviceCredentials).all()
  expect(row?.name).toBe('provider-openrouter')
  expect(row?.sealedValue).not.toContain(KEY)

  expect((await send('DELETE', '/providers/openrouter')).status).toBe(200)
  expect(models()).toBe(0)
  expect(platform.db.select().from(serviceCredentials).all()).toEqual([])
  const lines = platform.db.select().from(auditLog).all()
  expect(lines.map(({ action, target }) => [action, target])).toEqual([
    ['services.provider-set', 'openrouter'],
    ['services.provider-forgotten', 'openrouter'],
  ])
  expect(JSON.stringify(lines)).not.toContain(KEY)
})

test('PUT /api/admin/services/providers/:id: 400 CREDENTIALS_REFUSED, 502, 404 and 409 store nothing', async () => {
  await using installation = await openServices({ GROQ_API_KEY: 'gsk_of-the-environment' })
  const { platform, send, provider } = installation
  provider.answerWith({ fault: { status: 401 } })
  const refused = await send('PUT', '/providers/openrouter', { apiKey: KEY })
  expect([refused.status, await refused.json()]).toEqual([
    400,
    { error: 'Provider openrouter does not accept this key', code: 'CREDENTIALS_REFUSED' },
  ])
  provider.listModelsWith(401)
  expect((await send('PUT', '/providers/openrouter', { apiKey: KEY })).status).toBe(400)
  provider.listModelsWith(500)
  expect((await send('PUT', '/providers/openrouter', { apiKey: KEY })).status).toBe(502)
  expect((await send('PUT', '/providers/nobody', { apiKey: KEY })).status).toBe(404)
  for (const apiKey of ['short', 'with a blank in it', 7, undefined]) {
    expect((await send('PUT', '/providers/openrouter', { apiKey })).status).toBe(400)
  }
  expect(platform.db.select().from(serviceCredentials).all()).toEqual([])
  expect(platform.catalogue.list()).toEqual([])
})

test('PUT and DELETE /api/admin/services/mail: 200 and mail is sent at once; 400 when the server rejects the credentials', async () => {
  await using installation = await openServices()
  const { platform, send } = installation
  await using mail = await startMailServer()
  expect([platform.mailer.isConfigured, platform.rules.requiresVerifiedEmail]).toEqual([false, false])
  const smtpUrl = mail.url
  const set = await send('PUT', '/mail', { smtpUrl, from: 'Stead <stead@example.com>' })
  expect([set.status, Services.parse(await set.json()).mail]).toEqual([
    200,
    { source: 'dashboard', server: new URL(smtpUrl).host, from: 'Stead <stead@example.com>' },
  ])
  expect([platform.mailer.isConfigured, platform.rules.requiresVerifiedEmail]).toEqual([true, true])
  await platform.mailer.send({ to: 'bo@example.com', subject: 'Hello', text: 'From the house.' })
  expect(mail.received).toMatchObject([{ from: 'stead@example.com', to: ['bo@example.com'], subject: 'Hello' }])
})

test('DELETE /api/admin/services/mail: 409 when a user with an unverified address in ADMIN_EMAILS would become an administrator', async () => {
  await using installation = await openServices({ ADMIN_EMAILS: 'ada@example.com,boss@example.com' })
  const { platform, send } = installation
  await using mail = await startMailServer()
  expect((await send('PUT', '/mail', { smtpUrl: mail.url, from: 'stead@example.com' })).status).toBe(200)
  const stranger = await installation.signIn('boss@example.com')
  await write(platform.db, (tx) =>
    tx.update(users).set({ emailVerifiedAt: null }).where(eq(users.email, 'boss@example.com')).run(),
  )
  const refusal = await send('DELETE', '/mail')
  expect([refusal.status, await refusal.text()]).toEqual([409, expect.stringContaining('boss@example.com')])
  expect(platform.mailer.isConfigured).toBe(true)
  expect((await installation.web.request(PATH, { headers: stranger.cookie })).status).toBe(403)

  await write(platform.db, (tx) => tx.delete(users).where(eq(users.email, 'boss@example.com')).run())
  expect((await send('DELETE', '/mail')).status).toBe(200)
  expect(platform.mailer.isConfigured).toBe(false)
})

test('PUT /api/admin/services/mail: 400 when the URL has options other than for connecting to a mail server', async () => {
  await using installation = await openServices()
  await using mail = await startMailServer()
  for (const more of [
    '?sendmail=true&path=/usr/bin/tee',
    '?jsonTransport=true',
    '?tls.rejectUnauthorized=false',
    '#a',
  ]) {
    const response = await installation.send('PUT', '/mail', {
      smtpUrl: `${mail.url}${more}`,
      from: 'stead@example.com',
    })
    expect([more, response.status]).toEqual([more, 400])
  }
  expect(installation.platform.db.select().from(serviceCredentials).all()).toEqual([])
})

test('PUT /api/admin/services/mail: 400 CREDENTIALS_REFUSED for a wrong password, which no response or log contains', async () => {
  await using installation = await openServices()
  const server = new SMTPServer({
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    onAuth: (auth, _, done) => (auth.password === 'right' ? done(null, { user: 'stead' }) : done(new Error('No'))),
  })
  const listening = server.listen(0, '127.0.0.1')
  await new Promise<void>((resolve) => listening.once('listening', resolve))
  const address = listening.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const put = (password: string) =>
    installation.send('PUT', '/mail', {
      smtpUrl: `smtp://stead:${password}@127.0.0.1:${port}`,
      from: 'stead@example.com',
    })
  try {
    const refused = await put('wr0ng-word')
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('CREDENTIALS_REFUSED')])
    expect(installation.platform.mailer.isConfigured).toBe(false)
    const accepted = await put('right')
    expect([accepted.status, await accepted.text()]).toEqual([200, expect.not.stringContaining('right')])
    expect((await installation.send('DELETE', '/mail')).status).toBe(200)
    expect(installation.platform.mailer.isConfigured).toBe(false)
    const lines = JSON.stringify(installation.platform.db.select().from(auditLog).all())
    expect(lines).not.toMatch(/wr0ng|right/)
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
})

test('/api/admin/services: 409 SET_BY_ENVIRONMENT for values set in the environment, which take precedence; 403 for other users', async () => {
  await using mail = await startMailServer()
  const apiKey = 'sk-or-of-the-environment'
  const provider = await startProvider()
  const given = createHttpProvider(
    { id: 'openrouter', baseUrl: provider.baseUrl, apiKey, timeoutMs: 10_000 },
    { fetch },
  )
  const { web, platform, signIn } = testPlatform({ environment: { SMTP_URL: mail.url }, providers: [given] })
  const ada = await signIn('ada@example.com')
  await write(platform.db, (tx) => tx.update(users).set({ isAdmin: true }).run())
  const bo = await signIn('bo@example.com')
  const body = { smtpUrl: mail.url, from: 'a@example.com' }
  for (const [method, path, sent] of [
    ['PUT', '/mail', body],
    ['DELETE', '/mail', undefined],
    ['PUT', '/providers/openrouter', { apiKey: KEY }],
    ['DELETE', '/providers/openrouter', undefined],
  ] as const) {
    const response = await web.request(`${PATH}${path}`, json(method, sent, ada.cookie))
    expect([path, response.status, await response.json()]).toEqual([
      path,
      409,
      { error: expect.stringContaining('says it already'), code: 'SET_BY_ENVIRONMENT' },
    ])
    expect((await web.request(`${PATH}${path}`, json(method, sent, bo.cookie))).status).toBe(403)
  }
  const reported = Services.parse(await (await web.request(PATH, { headers: ada.cookie })).json())
  expect(reported.mail.source).toBe('environment')
  expect((await web.request(PATH, { headers: bo.cookie })).status).toBe(403)
  await provider.stop()
})
