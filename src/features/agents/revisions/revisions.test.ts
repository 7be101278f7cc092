import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { deploymentHistory } from '../operations/tables.ts'
import { insertAgent } from '../registry/agents.ts'
import type { AgentRow } from '../registry/tables.ts'
import { findHealthyRevision, markRevisionHealthy, recordRevision } from './record.ts'
import { RestoredRevision, RevisionDetail, RevisionList } from './schemas.ts'
import { agentRevisions } from './tables.ts'

const HEALTHY_MS = 300_000

async function openAgent(kind: Partial<AgentRow> = {}) {
  const test = testPlatform({ environment: { AI_ECHO: 'true' } })
  const { platform, web, backend, clock } = test
  const { user, cookie } = await test.signIn()
  const known = { ownerId: user.id, name: 'Ada', model: 'local/echo', plan: 'solo', aiProvider: 'openrouter' }
  const agent = await write(platform.db, (tx) => {
    const row = insertAgent(platform, tx, { ...known, status: 'stopped', ...kind })
    recordRevision(platform, tx, row.id, { author: user.id })
    return row
  })
  const path = `/api/agents/${agent.id}`
  const call = (method: 'GET' | 'POST' | 'PUT', below: string, body?: unknown) =>
    web.request(`${path}${below}`, method === 'GET' ? { headers: cookie } : json(method, body, cookie))
  return {
    ...test,
    agent,
    user,
    cookie,
    path,
    call,
    change: async (config: object) => {
      clock.advance(1000)
      expect((await call('PUT', '/config', config)).status).toBe(200)
    },
    list: async () => (await read(RevisionList, web.request(`${path}/revisions`, { headers: cookie }))).revisions,
    asOperator: (below: string) => backend.request(`${path}${below}`, { headers: bearer(INTERNAL_KEY) }),
  }
}

test('GET /api/agents/:id/revisions: 200 with author, time and changes of every configuration, on both APIs', async () => {
  const { change, call, list, asOperator, user } = await openAgent()
  await change({ template: 'helper' })
  await change({ template: 'helper' })
  await call('PUT', '/tools', { switches: { web_search: false }, limits: { toolCalls: 7 } })
  const revisions = await list()
  expect(revisions.map(({ number, isCurrent, changes }) => ({ number, isCurrent, changes }))).toEqual([
    {
      number: 3,
      isCurrent: true,
      changes: expect.arrayContaining([
        { field: 'tools.web_search', before: null, after: 'off', isSecret: false },
        { field: 'tools.toolCalls', before: null, after: '7', isSecret: false },
      ]),
    },
    { number: 2, isCurrent: false, changes: [{ field: 'template', before: null, after: 'helper', isSecret: false }] },
    { number: 1, isCurrent: false, changes: [] },
  ])
  expect(revisions[0]).toMatchObject({ author: { kind: 'user', id: user.id }, healthyAt: null, restoredFrom: null })
  expect(await read(RevisionList, asOperator('/revisions'))).toEqual({ revisions })
})

test('GET /api/agents/:id/revisions: 200 with secrets only as set, changed or removed', async () => {
  const { change, call, list, platform } = await openAgent()
  await change({ webhookUrl: 'https://example.com/canary-1', apiKey: 'canary-key-1' })
  await change({ webhookUrl: 'https://example.com/canary-2' })
  await change({ apiKey: null })
  const shown = await list()
  const secret = (field: string, before: string | null, after: string | null) => ({
    field,
    before,
    after,
    isSecret: true,
  })
  expect(shown.map(({ changes }) => changes)).toEqual([
    [secret('apiKey', 'set', null)],
    [secret('webhookUrl', 'set', 'changed')],
    [secret('apiKey', null, 'set'), secret('webhookUrl', null, 'set')],
    [],
  ])
  const detail = await call('GET', '/revisions/2')
  const text = await detail.text()
  expect(RevisionDetail.parse(JSON.parse(text)).restoring).toEqual([
    secret('apiKey', null, 'set'),
    secret('webhookUrl', 'set', 'changed'),
  ])
  expect(text + JSON.stringify(shown)).not.toContain('canary')
  expect(JSON.stringify(platform.db.select().from(agentRevisions).all())).not.toContain('canary')
})

test('POST /api/agents/:id/revisions/:number/restore: 200 restores settings, secrets and tools', async () => {
  const { change, call, list, agent, platform } = await openAgent()
  await change({ template: 'helper', webhookUrl: 'https://one.example.com/a' })
  await call('PUT', '/tools', { switches: { web_search: false } })
  await change({ template: 'other', webhookUrl: 'https://two.example.com/b' })
  await call('PUT', '/tools', { switches: { web_search: true } })
  const response = await call('POST', '/revisions/3/restore')
  const { revision } = await read(RestoredRevision, response)
  expect(revision).toMatchObject({ number: 6, restoredFrom: 3, isCurrent: true, author: { kind: 'user' } })
  const { config } = JSON.parse(await (await call('GET', '/config')).text())
  expect(config).toMatchObject({ template: 'helper', webhookUrl: 'https://one.example.com' })
  const { tools } = JSON.parse(await (await call('GET', '/tools')).text())
  expect(tools.find(({ name }: { name: string }) => name === 'web_search')).toMatchObject({ isOn: false })
  expect((await list()).length).toBe(6)
  const audited = platform.db
    .select({ action: auditLog.action })
    .from(auditLog)
    .where(eq(auditLog.target, agent.id))
    .all()
  expect(audited).toContainEqual({ action: 'agent.restore-configuration' })
})

test('POST /api/agents/:id/revisions/:number/restore: 200 redeploys a running agent; 400 when the plan no longer exists', async () => {
  const { change, call, platform } = await openAgent({ status: 'running' })
  await change({ template: 'one' })
  expect((await call('POST', '/revisions/1/restore')).status).toBe(200)
  const operations = platform.db.select({ kind: deploymentHistory.kind }).from(deploymentHistory).all()
  expect(operations).toEqual([{ kind: 'deploy' }])
  await write(platform.db, (tx) => tx.update(agentRevisions).set({ plan: 'gone' }).run())
  expect((await call('POST', '/revisions/1/restore')).status).toBe(400)
})

test('GET and POST /api/agents/:id/revisions…: 404 for a stranger, a missing agent and a missing revision', async () => {
  const { web, signIn, path, call } = await openAgent()
  const stranger = await signIn('bo@example.com')
  for (const below of ['/revisions', '/revisions/1'])
    expect((await web.request(`${path}${below}`, { headers: stranger.cookie })).status).toBe(404)
  const restore = `${path}/revisions/1/restore`
  expect((await web.request(restore, json('POST', undefined, stranger.cookie))).status).toBe(404)
  expect((await web.request(`${path}/revisions`)).status).toBe(401)
  for (const number of ['2', 'x', '-1', '1.5']) {
    expect((await call('GET', `/revisions/${number}`)).status).toBe(404)
    expect((await call('POST', `/revisions/${number}/restore`)).status).toBe(404)
  }
})

test('markRevisionHealthy marks a configuration when the agent had it for long enough', async () => {
  const { platform, agent, clock, change, list } = await openAgent()
  const mark = () =>
    write(platform.db, (tx) => markRevisionHealthy(platform, tx, { ...agent, updatedAt: clock.now() }, HEALTHY_MS))
  const healthy = async () => (await list()).filter(({ healthyAt }) => healthyAt !== null).map(({ number }) => number)
  await mark()
  expect(await healthy()).toEqual([])
  clock.advance(HEALTHY_MS)
  await mark()
  expect(await healthy()).toEqual([1])
  await change({ template: 'one' })
  await mark()
  expect(await healthy()).toEqual([1])
  clock.advance(HEALTHY_MS)
  await mark()
  expect(await healthy()).toEqual([2, 1])
})

test('recordRevision keeps 50 revisions and the last healthy one', async () => {
  const { platform, agent, clock, list } = await openAgent()
  clock.advance(HEALTHY_MS)
  await write(platform.db, (tx) => markRevisionHealthy(platform, tx, agent, HEALTHY_MS))
  for (let count = 0; count < 60; count++) {
    const instructions = `Version ${count}`
    await write(platform.db, (tx) => recordRevision(platform, tx, agent.id, { author: 'operator', instructions }))
  }
  const kept = await list()
  expect([kept.length, kept[0]?.number, kept.at(-1)?.number]).toEqual([51, 61, 1])
  expect(findHealthyRevision(platform.db, agent.id)?.number).toBe(1)
})
