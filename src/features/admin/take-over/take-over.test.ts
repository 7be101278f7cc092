import { afterAll, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { siweMessage } from '../../../../tests/harness/chain/siwe.ts'
import { startGithubDouble } from '../../../../tests/harness/doubles/github.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { openBrowser } from '../../../../tests/harness/web-client.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { write } from '../../../db/write.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { noticeChannels } from '../../accounts/notifications/tables.ts'
import { insertUser } from '../../accounts/registration/register.ts'
import { NonceResponse } from '../../accounts/sign-in/schemas.ts'
import { agentChannels, channelPairings, channelPeople } from '../../agents/channels/tables.ts'
import { insertAgent, openTokens } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { swarmRuns } from '../../conversations/swarms/tables.ts'
import { installedSkills } from '../../payments/skills/tables.ts'
import { splitRules } from '../../payments/splits/tables.ts'
import { radioStreams } from '../../web-tools/radio/tables.ts'

/** A vendor that cannot be asked now, which does not speak against a key. */
const vendor = await startProvider()
afterAll(() => vendor.stop())
const openProvider = (id: string, apiKey: string) =>
  createHttpProvider({ id, baseUrl: vendor.baseUrl, apiKey, timeoutMs: 60_000 }, { fetch })

const WALLET = privateKeyToAccount(`0x${'a1'.repeat(32)}`)
const Token = z.object({ token: z.string().startsWith('gw_') })
const Created = z.object({ id: z.string() })

/** Every table with rows of an account: access and automations, which end, and content, which stays. */
const ENDS = [
  'agent_credentials',
  'api_keys',
  'email_tokens',
  'identities',
  'installations',
  'notice_channels',
  'pairing_codes',
  'provider_keys',
  'radio_streams',
  'recovery_codes',
  'mcp_authorization_attempts',
  'sessions',
  'sign_in_wallets',
  'split_rules',
]
const SWITCHED_OFF = [
  'heartbeats',
  'installed_skills',
  'managed_wallets',
  'scheduled_runs',
  'scheduled_tasks',
  'swarm_runs',
]
const STAYS = [
  'agents',
  'bookings',
  'bus_messages',
  'calendar_entries',
  'card_customers',
  'card_subscriptions',
  'chat_attachments',
  'chat_sessions',
  'chat_turns',
  'escrows',
  'messages',
  'notice_settings',
  'notices',
  'own_skills',
  'pauses',
  'referrals',
  'royalty_splits',
  'skill_downloads',
  'stored_responses',
  'swarms',
  'tickets',
  'underground_events',
  'user_storage',
  'videos',
  'wallet_payments',
]

/** Sets up every kind of access and automation for an account whose address belongs to another user. */
async function squat(it: ReturnType<typeof testPlatform>, userId: string) {
  const cookie = { cookie: `service-session=${await it.platform.sessions.create(userId)}` }
  const send = async (method: 'POST' | 'PUT', path: string, body: unknown) => {
    const response = await it.web.request(path, json(method, body, cookie))
    expect([path, response.status, response.ok || (await response.text())]).toEqual([path, response.status, true])
    return response
  }
  const agent = await write(it.platform.db, (tx) => {
    const kind = { name: 'Tea', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
    return insertAgent({ clock: it.clock, sealer: it.platform.sealer }, tx, { ...kind, ownerId: userId })
  })
  const { key } = await createKey(it.platform, userId, { name: 'back door' })
  await send('PUT', `/api/agents/${agent.id}/config`, {
    telegramToken: '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    webhookUrl: 'https://squatter.example/all',
    ownerIds: ['666'],
  })
  await send('POST', '/api/agent', { action: 'set-credential', key: 'openai', value: 'sk-0123456789' })
  await send('POST', '/api/billing', { action: 'enable-byok', provider: 'openai', apiKey: 'sk-vendor-0123456789' })
  await send('POST', '/api/heartbeat', { enabled: true, frequency: '5m' })
  const task = { name: 'Mine', cronSchedule: '* * * * *', prompt: 'Send me all', agentId: agent.id }
  await send('POST', '/api/scheduled-tasks', task)
  const swarm = await read(Created, send('POST', '/api/swarms', { name: 'All', agents: [agent.id] }))
  await send('POST', `/api/swarms/${swarm.id}/run`, { task: 'Send me all' })
  const server = { name: 'mine', url: 'https://squatter.example/mcp', bearer: 'squatters-secret' }
  await send('POST', `/api/agents/${agent.id}/mcp-servers`, server)
  await send('PUT', `/api/agents/${agent.id}/webhook-channel`, { url: 'https://squatter.example/answers' })
  const remote = { origin: 'https://git.example.com', username: 'squatter', password: 'pushed' }
  await send('PUT', `/api/browse/git-credentials?agentId=${agent.id}`, remote)
  const machine = { userId, name: 'laptop', gatewayUrl: 'https://squatter.example', gatewayToken: 'gw' }
  await it.backend.request('/api/register-link', json('POST', machine, bearer(INTERNAL_KEY)))
  const now = it.clock.now()
  await write(it.platform.db, (tx) => {
    const skill = { userId, agentId: agent.id, skillId: 'own', enabled: true, createdAt: now }
    tx.insert(installedSkills)
      .values({ ...skill, id: 'ins_1' })
      .run()
    const rule = { userId, address: `0x${'66'.repeat(20)}`, name: 'Squatter', role: 'artist', createdAt: now }
    tx.insert(splitRules)
      .values({ ...rule, id: 'rul_1', shareMillionths: 1_000_000, minimumMicroUsd: 0 })
      .run()
    const of = { agentId: agent.id, channel: 'mail', personId: 'mallory@squatter.example', name: 'Mallory' } as const
    tx.insert(agentChannels).values({ agentId: agent.id, name: 'mail', since: now }).run()
    tx.insert(channelPeople)
      .values({ ...of, since: now })
      .run()
    tx.insert(channelPairings)
      .values({ ...of, personId: 'trent@squatter.example', code: 'CODECODE', expiresAt: it.clock.now() })
      .run()
    const channel = { id: 'nch_1', userId, kind: 'discord', name: 'Squatter', destination: 'discord.com' } as const
    tx.insert(noticeChannels)
      .values({ ...channel, sealedRecipient: 'v1.none', kinds: ['down'], createdAt: now })
      .run()
    const stream = { id: 'str_1', userId, name: 'Live', wallet: 'w', status: 'created', statusAt: now } as const
    tx.insert(radioStreams)
      .values({ ...stream, providerId: 'p1', createdAt: now })
      .run()
  })
  return { agent, key, accessToken: openTokens(it.platform.sealer, agent).accessToken }
}

/** Expects that no access or automation of the account's creator works, and that the agent belongs to the owner of `cookie`. */
async function expectFreed(
  { platform, backend, web }: ReturnType<typeof testPlatform>,
  { agent, key, accessToken }: Awaited<ReturnType<typeof squat>>,
  cookie: Record<string, string>,
) {
  const get = async (path: string) => (await web.request(path, { headers: cookie })).json()
  expect(platform.verifyKey(key)).toBeNull()
  expect(platform.db.select().from(noticeChannels).all()).toEqual([])
  expect((await backend.request('/v1/models', { headers: bearer(accessToken) })).status).toBe(401)
  const { token } = Token.parse(await get(`/api/agents/${agent.id}/token`))
  expect(token).not.toBe(openTokens(platform.sealer, agent).gatewayToken)
  expect(platform.db.select().from(agents).all()).toMatchObject([
    { id: agent.id, name: 'Tea', secretConfig: null, config: '{}' },
  ])
  expect(await get('/api/scheduled-tasks')).toMatchObject({
    tasks: [{ name: 'Mine', enabled: false, nextRun: null }],
  })
  expect(await get('/api/heartbeat')).toMatchObject({ heartbeat: { enabled: false } })
  expect(await get('/api/billing')).toMatchObject({ byokEnabled: false, byokProviders: [] })
  expect(await get('/api/installations')).toMatchObject({ installations: [] })
  expect(platform.db.select().from(swarmRuns).all()).toMatchObject([{ state: 'cancelled' }])
  expect(platform.db.select().from(installedSkills).all()).toMatchObject([{ enabled: false }])
  expect(countRows(platform.db)).toMatchObject({
    agent_channels: 0,
    agent_credentials: 0,
    agent_mcp_servers: 0,
    mcp_authorizations: 0,
    channel_pairings: 0,
    channel_people: 0,
    webhook_channels: 0,
    api_keys: 0,
    git_credentials: 0,
    radio_streams: 0,
    sessions: 1,
    split_rules: 0,
  })
}

test('takeOver ends, disables or keeps the rows of every table when it has rows of an account', () => {
  const { platform } = testPlatform()
  const ofUsers = sql`sqlite_master as t, pragma_foreign_key_list(t.name) as f where t.type = 'table' and f."table" = 'users'`
  const found = platform.db.select({ name: sql<string>`distinct t.name` }).from(ofUsers).all()
  expect(found.map(({ name }) => name).sort()).toEqual([...ENDS, ...SWITCHED_OFF, ...STAYS].sort())
})

test('takeOver removes all access of the account’s creator when another user verifies the address with an identity provider', async () => {
  await using github = await startGithubDouble()
  github.signInAs({
    id: 1815,
    login: 'ada',
    name: 'Ada',
    emails: [{ email: 'ada@example.com', primary: true, verified: true }],
  })
  const it = testPlatform({
    openProvider,
    environment: { ...github.environment, SMTP_URL: 'smtp://127.0.0.1:1', SIGN_UP: 'open' },
  })
  const mallory = await it.signIn('ada@example.com', 'collective')
  const squatted = await squat(it, mallory.user.id)
  const browser = openBrowser(it.web)
  const back = await github.visit(await browser.follow('/api/auth/idp-a'))
  expect((await browser.request(`${back.pathname}${back.search}`)).headers.get('location')).toBe('/dashboard')
  const session = browser.cookies.get('service-session')
  await expectFreed(it, squatted, { cookie: `service-session=${session}` })
})

test('takeOver removes all access by password when another user proves ownership of the wallet', async () => {
  const it = testPlatform({ openProvider })
  const email = `${WALLET.address.toLowerCase()}@wallet.localhost`
  const { id } = await write(it.platform.db, (tx) =>
    insertUser(tx, { email, name: 'Mallory', passwordHash: 'hash' }, { now: it.clock.now(), plan: 'collective' }),
  )
  const squatted = await squat(it, id)
  const { nonce } = await read(NonceResponse, it.web.request('/api/auth/nonce'))
  const message = siweMessage({ address: WALLET.address, nonce, issuedAt: it.clock.now().toISOString() })
  const signature = await WALLET.signMessage({ message })
  const browser = openBrowser(it.web)
  const body = { address: WALLET.address, message, signature }
  expect((await browser.request('/api/wallet-auth', json('POST', body))).status).toBe(200)
  await expectFreed(it, squatted, { cookie: `service-session=${browser.cookies.get('service-session')}` })
})
