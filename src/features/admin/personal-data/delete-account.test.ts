import { expect, test } from 'bun:test'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { addTalkTraces } from '../../../../tests/harness/rows/talk-traces.ts'
import { until } from '../../../../tests/harness/until.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { CreatedKey } from '../../accounts/keys/schemas.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import { usageDays, usageLogs, usageMonths } from '../../ai/usage/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { radioStreams } from '../../web-tools/radio/tables.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

/**
 * Creates Ada, signed in, with a key, two agents, a message and `calls` model calls. `removed` lists the deleted
 * agents.
 */
async function withAda(calls = 3) {
  const removed: string[] = []
  const runtime = { ...createNoRuntime('process', 'none'), remove: async (id: string) => void removed.push(id) }
  const test = testPlatform({ runtime, environment: { ADMIN_EMAILS: ADA.email } })
  await test.web.request('/api/register', json('POST', ADA))
  const userId = test.platform.db.select().from(users).get()?.id ?? ''
  const cookie = { cookie: `service-session=${await test.platform.sessions.create(userId)}` }
  const { key } = await read(CreatedKey, test.web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  const now = test.clock.now()
  await write(test.platform.db, (tx) => {
    for (const id of ['ada-1', 'ada-2']) {
      const tokens = { gatewayToken: 'x', accessToken: 'x', accessTokenHash: id }
      const row = { id, ownerId: userId, name: 'Ada', model: 'local/echo', plan: 'solo', aiProvider: 'openrouter' }
      tx.insert(agents)
        .values({ ...row, ...tokens, status: 'running', createdAt: now, updatedAt: now })
        .run()
    }
    tx.insert(messages)
      .values({ id: 'm', userId, agentId: 'ada-1', sender: 'user', content: 'private', status: 'sent', createdAt: now })
      .run()
    addTalkTraces(tx, { userId, agentId: 'ada-1', canary: 'private', sealed: 'private', now })
    tx.update(messages).set({ sessionId: 'sess_private' }).run()
    // No provider is set up here that could be asked to end it.
    tx.update(radioStreams).set({ providerId: null }).run()
    for (let call = 0; call < calls; call++) {
      tx.insert(usageLogs)
        .values({ userId, agentId: 'ada-1', model: 'm', inputTokens: 2, errorMessage: 'private', createdAt: now })
        .run()
    }
    const sums = { model: 'm', inputTokens: 2, outputTokens: 1, costMicroUsd: 5, calls: 1 }
    for (const agentId of ['ada-1', 'ada-2']) {
      tx.insert(usageDays)
        .values({ userId, day: '2026-11-20', agentId, ...sums })
        .run()
    }
    tx.insert(usageMonths).values({ userId, month: '2026-11', tokens: 6, costMicroUsd: 10 }).run()
    recordAudit(tx, { actor: userId, action: 'login', target: userId, detail: { of: ADA.email }, address: '::1' }, now)
  })
  return {
    ...test,
    userId,
    cookie,
    key,
    removed,
    remove: (body: unknown, headers: Record<string, string> = cookie) =>
      test.web.request('/api/settings/account', json('DELETE', body, headers)),
    settled: () =>
      until('all jobs are done', () =>
        test.platform.db
          .select()
          .from(jobs)
          .all()
          .every(({ status }) => status === 'done'),
      ),
  }
}

test('DELETE /api/settings/account: 200 clears the cookie, and no credential opens the account', async () => {
  const { remove, web, cookie, key, platform } = await withAda()
  const response = await remove({ confirm: ' ADA@example.com', password: ADA.password })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true })
  expect(response.headers.getSetCookie()[0]).toMatch(/^service-session=; Max-Age=0; Path=\//)
  for (const headers of [cookie, bearer(key)]) {
    expect((await web.request('/api/settings', { headers })).status).toBe(401)
  }
  expect((await web.request('/api/auth/login', json('POST', ADA))).status).toBe(401)
  expect(countRows(platform.db)).toMatchObject({ users: 0, sessions: 0, api_keys: 0, agents: 0, messages: 0 })
  const talk = { chat_sessions: 0, agent_memory: 0, agent_credentials: 0, inbox_messages: 0 }
  expect(countRows(platform.db)).toMatchObject({ ...talk, radio_streams: 0, videos: 0 })
  expect((await web.request('/api/register', json('POST', ADA))).status).toBe(200)
})

test('DELETE /api/settings/account: 200 removes the agents’ containers', async () => {
  const { remove, removed, platform, settled } = await withAda()
  await using _jobs = startJobs(platform)
  await remove({ confirm: ADA.email, password: ADA.password })
  await settled()
  expect(removed.toSorted()).toEqual(['ada-1', 'ada-2'])
})

test('DELETE /api/settings/account: 200 keeps usage sums and audit entries without the user’s identity', async () => {
  const { remove, platform, settled, userId } = await withAda(1203)
  const eve = { userId: 'usr_eve', agentId: 'eve', day: '2026-11-20', model: 'm' }
  await write(platform.db, (tx) =>
    tx
      .insert(usageDays)
      .values({ ...eve, inputTokens: 9, outputTokens: 9, costMicroUsd: 9, calls: 9 })
      .run(),
  )
  await using _jobs = startJobs(platform)
  await remove({ confirm: ADA.email, password: ADA.password })
  await settled()
  expect(
    platform.db.selectDistinct({ userId: usageLogs.userId, agentId: usageLogs.agentId }).from(usageLogs).all(),
  ).toEqual([{ userId: 'deleted', agentId: 'deleted' }])
  expect(countRows(platform.db).usage_logs).toBe(1203)
  expect(platform.db.select().from(usageDays).orderBy(usageDays.userId).all()).toMatchObject([
    { userId: 'deleted', agentId: 'deleted', inputTokens: 4, outputTokens: 2, costMicroUsd: 10, calls: 2 },
    { userId: 'usr_eve', agentId: 'eve', calls: 9 },
  ])
  expect(platform.db.select().from(usageMonths).all()).toEqual([
    { userId: 'deleted', month: '2026-11', tokens: 6, costMicroUsd: 10 },
  ])
  expect(platform.db.select().from(auditLog).all()).toMatchObject([
    { actor: userId, action: 'login', detail: {}, address: null },
    { actor: userId, action: 'account.deleted', target: userId, detail: {}, address: null },
  ])
  const dump = dumpTables(platform.db)
  for (const personal of [ADA.email, 'private', '::1']) expect(dump).not.toContain(personal)
})

test('DELETE /api/settings/account: 200 adds the usage to the sums of earlier deleted accounts', async () => {
  const { remove, platform, settled } = await withAda()
  await using _jobs = startJobs(platform)
  await write(platform.db, (tx) => {
    const deletedId = { userId: 'deleted', agentId: 'deleted', day: '2026-11-20', model: 'm' }
    tx.insert(usageDays)
      .values({ ...deletedId, inputTokens: 1, outputTokens: 1, costMicroUsd: 1, calls: 1 })
      .run()
    tx.insert(usageMonths).values({ userId: 'deleted', month: '2026-11', tokens: 1 }).run()
  })
  await remove({ confirm: ADA.email, password: ADA.password })
  await settled()
  expect(platform.db.select().from(usageDays).all()).toMatchObject([{ inputTokens: 5, costMicroUsd: 11, calls: 3 }])
  expect(platform.db.select().from(usageMonths).all()).toMatchObject([{ tokens: 7 }])
})

test.each([
  [{}, 400, 'Type your email address to confirm'],
  [{ password: ADA.password }, 400, 'Type your email address to confirm'],
  [{ confirm: 'eve@example.com', password: ADA.password }, 400, 'Type your email address to confirm'],
  [{ confirm: ADA.email }, 400, 'Password required'],
  [{ confirm: ADA.email, password: 'wrong horse' }, 401, 'Current password is incorrect'],
])('DELETE /api/settings/account: when the body is %j, %d and nothing changes', async (body, status, error) => {
  const { remove, platform } = await withAda()
  const before = countRows(platform.db)
  const response = await remove(body)
  expect(await response.json()).toEqual({ error })
  expect(response.status).toBe(status)
  expect({ ...countRows(platform.db), throttles: 0 }).toEqual({ ...before, throttles: 0 })
})

test('DELETE /api/settings/account: 401 without a session, also with an sk_ key', async () => {
  const { remove, key, platform } = await withAda()
  for (const headers of [{}, bearer(key)]) {
    expect((await remove({ confirm: ADA.email, password: ADA.password }, headers)).status).toBe(401)
  }
  expect(countRows(platform.db).users).toBe(1)
})

test('DELETE /api/settings/account: 401 when an account without a password signed in long ago, 200 after a new sign-in', async () => {
  const { web, signIn, clock, platform } = testPlatform()
  const { user, cookie } = await signIn('wallet@example.com')
  clock.advance(15 * 60_000)
  const remove = (headers: Record<string, string>) =>
    web.request('/api/settings/account', json('DELETE', { confirm: 'wallet@example.com' }, headers))
  const stale = await remove(cookie)
  expect(stale.status).toBe(401)
  expect(await stale.json()).toMatchObject({ code: 'FRESH_SESSION_REQUIRED' })
  expect((await remove({ cookie: `service-session=${await platform.sessions.create(user.id)}` })).status).toBe(200)
})
