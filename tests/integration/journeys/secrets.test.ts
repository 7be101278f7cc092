import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { TOTP } from 'otpauth'
import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { findClosed, SEALED_COLUMNS } from '../../../src/features/accounts/encryption/sealed-values.ts'
import { InviteResponse } from '../../../src/features/accounts/invites/schemas.ts'
import { CreatedKey, RotatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { NonceResponse } from '../../../src/features/accounts/sign-in/schemas.ts'
import { identities } from '../../../src/features/accounts/sign-in/tables.ts'
import { RecoveryCodes, TwoFactorSetup } from '../../../src/features/accounts/two-factor/schemas.ts'
import { openTokens } from '../../../src/features/agents/registry/agents.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { siweMessage } from '../../harness/chain/siwe.ts'
import { createAgent, PASSWORD, signUp } from '../../harness/client.ts'
import { settingsFor, startEventIssuer } from '../../harness/doubles/event-issuer.ts'
import { startOidcProvider } from '../../harness/doubles/oidc-provider.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { mailingPlatform } from '../../harness/mailing-platform.ts'
import { INTERNAL_KEY } from '../../harness/platform.ts'
import { bearer, json, read } from '../../harness/requests.ts'
import { dumpTables } from '../../harness/rows/dump.ts'
import { listSealedColumns } from '../../harness/rows/sealed-values.ts'
import { openInstallation, SERVICE_KEY } from '../../harness/server.ts'
import { openBrowser } from '../../harness/web-client.ts'
import { withProvider } from './main-job.ts'

const ADA = 'ada@example.com'
const ORIGIN = 'https://stead.example'
const WALLET = privateKeyToAccount(`0x${'a1'.repeat(32)}`)
const Csrf = z.object({ token: z.string(), signed: z.string() })
const SocialTokens = z.object({ sessionToken: z.string(), refreshToken: z.string() })

test('files are readable by their owner only, and no secret is in a log, environment or command line', async () => {
  await using provider = await startProvider({ fault: { status: 401 } })
  await using installation = await openInstallation({ environment: { ...withProvider(provider), LOG_LEVEL: 'trace' } })
  const program = await installation.start()
  const { web, backend } = program.urls
  const person = await signUp(web)
  const { key } = await read(CreatedKey, person.post('/api/keys', { name: 'laptop' }))
  const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
  await person.post('/api/chat', { agentId, message: 'This will fail' })
  const request = json('POST', { messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
  await fetch(`${backend}/v1/chat/completions?key=${key}`, request)
  await fetch(`${backend}/api/agents`, { headers: bearer(SERVICE_KEY) })

  const agentDir = join(installation.dataDir, 'agents', agentId)
  const secretFiles = readdirSync(join(agentDir, 'secrets')).map((name) => join(agentDir, 'secrets', name))
  for (const folder of [installation.dataDir, agentDir, join(agentDir, 'secrets')]) expect(modeOf(folder)).toBe(0o700)
  for (const file of ['stead.db', 'encryption.key'].map((name) => join(installation.dataDir, name)))
    expect(modeOf(file)).toBe(0o600)
  expect(secretFiles.length).toBe(3)
  for (const file of secretFiles) expect(modeOf(file)).toBe(0o600)

  const session = person.cookie.cookie?.replace('service-session=', '') ?? ''
  const agentTokens = await Promise.all(secretFiles.map((file) => Bun.file(file).text()))
  const pids = [...(await installation.agentPids()).values()]
  const reported = [
    ...program.lines,
    await Bun.file(join(agentDir, 'agent.log')).text(),
    ...(await Promise.all(pids.map((pid) => Bun.file(`/proc/${pid}/environ`).text()))),
    ...(await Promise.all(pids.map((pid) => Bun.file(`/proc/${pid}/cmdline`).text()))),
  ].join('\n')
  expect(reported).toContain(agentId)
  for (const secret of [PASSWORD, key, session, SERVICE_KEY, 'sk-or-the-double', ...agentTokens])
    expect(reported.includes(secret)).toBe(false)
}, 300_000)

test('the passwords of a service and of the command line are hashed with the parameters of OWASP', async () => {
  await using installation = await openInstallation()
  const program = await installation.start()
  await signUp(program.urls.web)
  const created = await installation.run(['user', 'create', 'bo@example.com', '--password-stdin', '--plan', 'solo'], {
    stdin: PASSWORD,
  })
  expect([created.exitCode, created.stderr]).toEqual([0, ''])
  const hashes = readPasswordHashes(installation.dataDir)
  expect(hashes.length).toBe(2)
  for (const hash of hashes) expect(hash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
}, 300_000)

test('after every action of an account, no table and no log line contains a usable secret', async () => {
  await using oidc = await startOidcProvider(`${ORIGIN}/api/auth/idp-b/callback`)
  using issuer = await startEventIssuer()
  await using it = await mailingPlatform({
    environment: {
      ...settingsFor(issuer),
      IDP_B_CLIENT_ID: oidc.clientId,
      IDP_B_CLIENT_SECRET: oidc.clientSecret,
      IDP_B_ISSUER: oidc.issuer,
      SOCIAL_ID_ISSUER: issuer.issuer,
      SOCIAL_ID_AUDIENCE: 'stead-client',
    },
  })
  const { db, sealer } = it.platform
  const secrets = new Map<string, string>([['internal key', INTERNAL_KEY]])
  const dumps: string[] = []
  /** Records newly issued or entered secrets, and the current content of the database. */
  const note = (found: Record<string, string | undefined>) => {
    for (const [name, value = ''] of Object.entries(found)) secrets.set(`${name} ${secrets.size}`, value)
    dumps.push(dumpTables(db))
  }
  const ada = openBrowser(it.web)
  const post = (path: string, body: unknown = {}) => ada.request(path, json('POST', body))
  const session = () => ada.cookies.get('service-session')

  const [password, newPassword] = ['the first horse battery', 'the second horse battery']
  await post('/api/register', { email: ADA, password })
  await it.arrival(ADA, 'Confirm your email')
  note({ password, verification: it.mail.linkTo(ADA).searchParams.get('token') ?? '' })
  await post('/api/auth/verify-email', { token: it.mail.linkTo(ADA).searchParams.get('token') })
  await post('/api/auth/login', { email: ADA, password })
  const { token, signed } = await read(Csrf, ada.request('/api/auth/csrf'))
  note({ session: session(), csrf: token, csrfSignature: signed })

  await post('/api/auth/forgot-password', { email: ADA })
  await it.arrival(ADA, 'Reset your password')
  const reset = it.mail.linkTo(ADA).searchParams.get('token') ?? ''
  note({ reset })
  expect((await post('/api/auth/reset-password', { token: reset, password: newPassword })).status).toBe(200)
  await post('/api/auth/login', { email: ADA, password: newPassword })
  note({ newPassword, session: session() })

  await post('/api/settings', { email: 'countess@example.com', currentPassword: newPassword })
  await it.arrival('countess@example.com', 'Confirm your new email')
  note({ change: it.mail.linkTo('countess@example.com').searchParams.get('token') ?? '' })

  const { id, key } = await read(CreatedKey, post('/api/keys', { name: 'laptop', scopes: ['read'] }))
  note({ key })
  const rotated = await read(RotatedKey, post(`/api/keys/${id}/rotate`, { overlapHours: 1 }))
  await it.web.request('/api/settings', { headers: bearer(rotated.key) })
  await it.backend.request('/api/validate-key', { method: 'POST', headers: bearer(key) })
  note({ rotatedKey: rotated.key })

  oidc.signInAs({ sub: 'ada-1815', email: ADA, email_verified: true, name: 'Ada' })
  const goAndComeBack = async () => {
    const start = await ada.follow('/api/auth/idp-b')
    const { state, nonce } = Object.fromEntries(new URL(start).searchParams)
    note({ state, nonce, browser: ada.cookies.get('__Host-service-sign-in') })
    const back = await oidc.visit(start)
    const end = await ada.follow(`${back.pathname}${back.search}`)
    note({ code: back.searchParams.get('code') ?? '', session: session() })
    return end
  }
  expect(await goAndComeBack()).toBe('/dashboard')
  const identity = db.select().from(identities).get()
  const refreshToken = sealer.unseal(identity?.refreshToken ?? '', `identities:refreshToken:${oidc.issuer}:ada-1815`)
  note({ refreshToken, clientSecret: oidc.clientSecret })

  const { secret } = await read(TwoFactorSetup, post('/api/settings/two-factor/setup', { password: newPassword }))
  const code = new TOTP({ secret }).generate({ timestamp: it.clock.now().getTime() })
  note({ secret })
  const { recoveryCodes } = await read(RecoveryCodes, post('/api/settings/two-factor/enable', { code }))
  note({ code: `"${code}"`, ...Object.fromEntries(recoveryCodes.map((one, index) => [`recovery${index}`, one])) })
  expect(await goAndComeBack()).toBe('/login?step=two-factor')
  note({ ticket: ada.cookies.get('__Host-service-two-factor') })
  expect((await post('/api/auth/two-factor', { code: recoveryCodes[0] })).status).toBe(200)
  await post('/api/auth/login', { email: ADA, password: newPassword, code: recoveryCodes[1] })
  note({ session: session() })

  const { nonce } = await read(NonceResponse, it.web.request('/api/auth/nonce'))
  const message = siweMessage({
    address: WALLET.address,
    nonce,
    issuedAt: it.clock.now().toISOString(),
    domain: 'stead.example',
    uri: `${ORIGIN}/login`,
  })
  const signature = await WALLET.signMessage({ message })
  const stranger = openBrowser(it.web)
  const signedIn = await stranger.request(
    '/api/wallet-auth',
    json('POST', { address: WALLET.address, message, signature }),
  )
  expect(signedIn.status).toBe(200)
  note({ walletNonce: nonce, signature, session: stranger.cookies.get('service-session') })

  const invite = () => it.backend.request('/api/invite/generate', { method: 'POST', headers: bearer(INTERNAL_KEY) })
  const [unused, used] = [await read(InviteResponse, invite()), await read(InviteResponse, invite())]
  note({ invite: unused.code, usedInvite: used.code })
  await it.backend.request('/api/invite/validate', json('POST', { code: used.code }))

  const fidToken = await issuer.sign({ sub: '1234', exp: Math.floor(Date.now() / 1000) + 300 })
  const social = await read(SocialTokens, post('/api/auth/social-id/verify', { fidToken }))
  note({ fidToken, ...social })
  note(await read(SocialTokens, post('/api/auth/social-id/refresh', { refreshToken: social.refreshToken })))

  const event = await issuer.sign({
    events: { 'https://schemas.openid.net/secevent/risc/event-type/verification': {} },
  })
  expect((await it.web.request('/api/security/risc', { method: 'POST', body: event })).status).toBe(202)
  note({ event })

  expect((await it.backend.request('/api/agents', json('POST', { name: 'Ada' }, bearer(INTERNAL_KEY)))).status).toBe(
    201,
  )
  const agent = db.select().from(agents).get()
  if (!agent) throw new Error('There is no agent')
  note(openTokens(sealer, agent))

  const places = Object.values(SEALED_COLUMNS).map(({ table, column }) => `${table}.${column}`)
  expect(listSealedColumns(db).filter((place) => !places.includes(place))).toEqual([])
  expect(findClosed(db, sealer)).toBeNull()

  const reported = [...dumps, ...it.logLines].join('\n')
  expect(reported).toContain(ADA)
  expect([...secrets].filter(([, value]) => value.length < 8)).toEqual([])
  expect([...secrets].filter(([, value]) => reported.includes(value)).map(([name]) => name)).toEqual([])
  expect(secrets.size).toBeGreaterThan(40)
}, 300_000)

function readPasswordHashes(dataDir: string): string[] {
  using database = new Database(join(dataDir, 'stead.db'), { readonly: true })
  const rows = database.query('SELECT password_hash AS hash FROM users').all()
  return z
    .array(z.object({ hash: z.string() }))
    .parse(rows)
    .map(({ hash }) => hash)
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}
