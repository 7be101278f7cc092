import { expect, test } from 'bun:test'
import { z } from 'zod'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { addTalkTraces } from '../../../../tests/harness/rows/talk-traces.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { CreatedKey } from '../../accounts/keys/schemas.ts'
import { issueEmailToken } from '../../accounts/notifications/email-tokens.ts'
import { identities, wallets } from '../../accounts/sign-in/tables.ts'
import { sessions, users } from '../../accounts/users/tables.ts'
import { installations } from '../../agents/installations/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import { providerKeys } from '../../ai/own-keys/tables.ts'
import { toolEvents, usageLogs } from '../../ai/usage/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { heartbeats } from '../../conversations/heartbeat/tables.ts'
import { scheduledRuns, scheduledTasks } from '../../conversations/scheduled-tasks/tables.ts'
import { swarmAnswers, swarmRuns, swarms } from '../../conversations/swarms/tables.ts'

const Lists = z.record(z.string(), z.unknown())
const rowsOf = (document: z.infer<typeof Lists>, name: string) => z.array(Lists).parse(document[name])

/** Ada with a row of each kind, `calls` usage rows, and Eve with as many. */
async function withRows(calls = 3) {
  const test = testPlatform()
  const people = [await test.signIn('ada@example.com', 'solo'), await test.signIn('eve@example.com', 'solo')] as const
  const secrets: string[] = []
  for (const { user, cookie } of people) {
    const { key } = await read(CreatedKey, test.web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
    secrets.push(key)
    const now = test.clock.now()
    await write(test.platform.db, (tx) => {
      tx.update(users)
        .set({ passwordHash: `hash-of-${user.id}`, twoFactorSecret: `sealed-of-${user.id}` })
        .run()
      const agent = { id: `agent-${user.id}`, ownerId: user.id, name: 'Ada', model: 'local/echo', plan: 'solo' }
      const tokens = {
        gatewayToken: `gateway-of-${user.id}`,
        accessToken: `access-of-${user.id}`,
        accessTokenHash: `accesshash-of-${user.id}`,
      }
      const dates = { createdAt: now, updatedAt: now }
      tx.insert(agents)
        .values({ ...agent, ...tokens, ...dates, aiProvider: 'openrouter', status: 'running' })
        .run()
      const swarm = { id: `swarm-${user.id}`, ownerId: user.id, name: 'Pair', agents: [agent.id], ...dates }
      tx.insert(swarms).values(swarm).run()
      const swarmRun = { id: `run-${user.id}`, swarmId: swarm.id, ownerId: user.id, task: 'Think', startedAt: now }
      tx.insert(swarmRuns)
        .values({ ...swarmRun, state: 'completed' })
        .run()
      const answer = { runId: swarmRun.id, agentId: agent.id, agentName: 'Ada', position: 0, message: 'Think' }
      tx.insert(swarmAnswers)
        .values({ ...answer, state: 'completed', reply: 'I do' })
        .run()
      tx.insert(messages)
        .values({
          id: `message-${user.id}`,
          userId: user.id,
          agentId: agent.id,
          sender: 'user',
          content: `from ${user.email}: "quotes" and \u2028`,
          status: 'sent',
          createdAt: now,
        })
        .run()
      const traces = {
        userId: user.id,
        agentId: agent.id,
        canary: `talk-of-${user.id}`,
        sealed: `sealed-of-${user.id}`,
      }
      addTalkTraces(tx, { ...traces, now })
      const task = { id: `task-${user.id}`, ownerId: user.id, agentId: agent.id, name: 'News', prompt: 'Read' }
      tx.insert(scheduledTasks)
        .values({ ...task, ...dates, cronSchedule: '0 9 * * *', timezone: 'UTC', enabled: false })
        .run()
      const run = { ownerId: user.id, agentId: agent.id, taskId: task.id, dueAt: now }
      tx.insert(scheduledRuns)
        .values({ ...run, id: `run-${user.id}`, trigger: 'manual', status: 'failed' })
        .run()
      tx.insert(heartbeats)
        .values({ userId: user.id, frequency: '3h', everyMs: 1, enabled: false, updatedAt: now })
        .run()
      for (let call = 0; call < calls; call++) {
        tx.insert(usageLogs)
          .values({ userId: user.id, agentId: agent.id, model: 'local/echo', inputTokens: call, createdAt: now })
          .run()
      }
      tx.insert(toolEvents)
        .values({ userId: user.id, agentId: agent.id, toolName: 'read_file', success: true, createdAt: now })
        .run()
      tx.insert(providerKeys)
        .values({ userId: user.id, provider: 'openai', sealedKey: `sealed-of-${user.id}`, createdAt: now })
        .run()
      tx.insert(identities)
        .values({
          issuer: 'https://issuer.example',
          subject: user.id,
          userId: user.id,
          provider: 'idp-b',
          email: user.email,
          refreshToken: `refresh-of-${user.id}`,
          createdAt: now,
          lastUsedAt: now,
        })
        .run()
      tx.insert(wallets)
        .values({ chainId: 8453, address: `0x${user.id}`, userId: user.id, createdAt: now })
        .run()
      const machine = { id: `ins-${user.id}`, userId: user.id, ownerId: user.id, name: 'attic', mode: 'home' } as const
      const gatewayToken = `home-gateway-of-${user.id}`
      secrets.push(gatewayToken)
      tx.insert(installations)
        .values({ ...machine, gatewayToken, status: 'active', registeredAt: now, lastSeenAt: now })
        .run()
      secrets.push(issueEmailToken(tx, { userId: user.id, purpose: 'reset-password', email: user.email }, now))
      recordAudit(tx, { actor: user.id, action: 'own', target: user.id, address: '198.51.100.1' }, now)
      recordAudit(tx, { actor: 'usr_admin', action: 'set-plan', target: user.id, address: '198.51.100.99' }, now)
    })
  }
  const exportOf = (headers: Record<string, string>) => test.web.request('/api/settings/export', { headers })
  return { ...test, ada: people[0], eve: people[1], secrets, exportOf }
}

test('GET /api/settings/export: 200 with the rows of the user only, as an attachment', async () => {
  const { ada, eve, exportOf } = await withRows()
  const response = await exportOf(ada.cookie)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(response.headers.get('content-disposition')).toBe('attachment; filename="stead-account.json"')
  const text = await response.text()
  const document = Lists.parse(JSON.parse(text))
  expect(document.account).toMatchObject({ id: ada.user.id, email: 'ada@example.com', plan: 'solo', hasPassword: true })
  const counts = Object.fromEntries(
    Object.entries(document).flatMap(([name, value]) =>
      Array.isArray(value) && value.length > 0 ? [[name, value.length]] : [],
    ),
  )
  expect(counts).toEqual({
    scheduledRuns: 1,
    scheduledTasks: 1,
    sessions: 1,
    keys: 1,
    identities: 1,
    wallets: 1,
    mailedLinks: 1,
    mcpServers: 1,
    providerKeys: 1,
    toolEvents: 1,
    agents: 1,
    installations: 1,
    heartbeat: 1,
    swarms: 1,
    swarmRuns: 1,
    messages: 2,
    chatTurns: 1,
    memory: 1,
    credentials: 1,
    radioStreams: 1,
    videos: 1,
    chatSessions: 1,
    inbox: 1,
    usage: 3,
    approvals: 1,
    audit: 2,
  })
  expect(rowsOf(document, 'messages')).toMatchObject([
    { content: 'from ada@example.com: "quotes" and \u2028' },
    { content: `talk-of-${ada.user.id}` },
  ])
  expect(rowsOf(document, 'chatTurns')).toMatchObject([
    { toolCalls: [{ name: 'list_files', result: `talk-of-${ada.user.id}` }] },
  ])
  expect(rowsOf(document, 'swarmRuns')).toMatchObject([{ task: 'Think', answers: [{ reply: 'I do' }] }])
  expect(rowsOf(document, 'memory')).toMatchObject([{ key: 'likes', value: `talk-of-${ada.user.id}` }])
  expect(rowsOf(document, 'inbox')).toMatchObject([{ text: `talk-of-${ada.user.id}` }])
  expect(rowsOf(document, 'audit')).toMatchObject([
    { by: 'you', address: '198.51.100.1' },
    { by: 'another', address: null },
  ])
  for (const foreign of [eve.user.id, 'eve@example.com', '198.51.100.99', 'usr_admin']) {
    expect(text).not.toContain(foreign)
  }
})

test('GET /api/settings/export: 200 without hashes, tokens and secrets', async () => {
  const { ada, exportOf, platform, secrets } = await withRows()
  const text = await (await exportOf(ada.cookie)).text()
  const hashes = platform.db.select({ tokenHash: sessions.tokenHash }).from(sessions).all()
  const stored = ['hash-of', 'sealed-of', 'gateway-of', 'access-of', 'accesshash-of', 'refresh-of']
  for (const secret of [...secrets, ...stored, ada.token, ...hashes.map(({ tokenHash }) => tokenHash)]) {
    expect(text).not.toContain(secret)
  }
})

test.each([499, 500, 501, 1000, 1203])(
  'GET /api/settings/export: with %d model calls, 200 with each call once',
  async (calls) => {
    const { ada, exportOf } = await withRows(calls)
    const document = await read(Lists, exportOf(ada.cookie))
    expect(rowsOf(document, 'usage').map(({ inputTokens }) => inputTokens)).toEqual(
      Array.from({ length: calls }, (_, call) => call),
    )
  },
)

test('GET /api/settings/export: 200 and the query ends when the reader disconnects', async () => {
  const { ada, exportOf } = await withRows(1203)
  const reader = (await exportOf(ada.cookie)).body?.getReader()
  expect((await reader?.read())?.done).toBe(false)
  await reader?.cancel()
})

test('GET /api/settings/export: 401 without a session, also with an sk_ key', async () => {
  const { exportOf, secrets } = await withRows()
  expect((await exportOf({})).status).toBe(401)
  expect((await exportOf(bearer(secrets[0] ?? ''))).status).toBe(401)
})
