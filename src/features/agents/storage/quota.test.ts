import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import { startAgentDouble } from '../../../../tests/harness/doubles/agent.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import type { PlanName } from '../../accounts/plans/plans.ts'
import { MessageList } from '../../conversations/chat/schemas.ts'
import { chatToolCalls, chatTurns, messages } from '../../conversations/chat/tables.ts'
import { readMail, receiveMail } from '../../conversations/inbox/receive.ts'
import { inboxMessages } from '../../conversations/inbox/tables.ts'
import { agentMemory } from '../../conversations/memory/tables.ts'
import { insertAgent, openTokens } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { STORAGE_FIGURES } from './figures.ts'
import { measureStorageJob } from './measure.ts'
import { agentStorage, userStorage } from './tables.ts'

const GIGABYTE = 1024 ** 3
const never = new AbortController().signal
const Settings = z.object({ storage: z.object({ used: z.number(), limit: z.number() }) })

/** Creates Ada's agent on a plan of one gigabyte; `fill` leaves the given bytes free. */
async function openTest(options: { plan?: PlanName | null; environment?: Record<string, string>; port?: number } = {}) {
  const installation = testPlatform({
    environment: { EMAIL_ALLOWED_SENDERS: 'bo@example.com', ...options.environment },
  })
  const { platform, clock, web, signIn } = installation
  const { user, cookie } = await signIn('ada@example.com', options.plan === undefined ? 'solo' : options.plan)
  const kind = { name: 'Bo', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const addAgent = (port: number | null = null) =>
    write(platform.db, (tx) => {
      const row = insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: user.id })
      const runs = { port, runtime: 'process' } as const
      tx.update(agents).set(runs).where(eq(agents.id, row.id)).run()
      return row
    })
  const agent = await addAgent(options.port)
  const used = () => platform.storage.read(platform.db, user.id)?.used ?? Number.NaN
  return {
    ...installation,
    user,
    cookie,
    agent,
    addAgent,
    used,
    workspace: join(platform.agentsFolder, agent.id, 'state', 'workspace'),
    fill: (leftBytes: number) =>
      write(platform.db, (tx) => {
        const workspaceBytes = sql`${agentStorage.workspaceBytes} + ${GIGABYTE - used() - leftBytes}`
        tx.update(agentStorage).set({ workspaceBytes }).where(eq(agentStorage.agentId, agent.id)).run()
      }),
    ask: (method: 'POST' | 'DELETE', path: string, body: unknown = {}) => web.request(path, json(method, body, cookie)),
    measure: () => measureStorageJob(platform).run(never),
  }
}

function isFull(used: number) {
  return { error: expect.stringContaining('storage is full'), code: 'STORAGE_FULL', used, limit: GIGABYTE }
}

describe('storage by plan', () => {
  test.each([
    ['solo', 1],
    ['collective', 5],
    ['label', 20],
    ['network', 100],
    [null, 100 / 1024],
  ] as const)('GET /api/settings: on plan %s, 200 with %d GB', async (plan, gigabytes) => {
    const { web, cookie, ask, agent } = await openTest({ plan })
    await ask('POST', '/api/memory', { agentId: agent.id, key: 'likes', memory: 'tea'.repeat(1000) })
    const { storage } = await read(Settings, web.request('/api/settings', { headers: cookie }))
    expect(storage.limit).toBe(gigabytes * GIGABYTE)
    expect(storage.used).toBeGreaterThan(3000)
    expect(storage.used).toBeLessThan(4000)
  })

  test('GET /api/settings: 200 with the storage of the largest plan for an administrator', async () => {
    const { platform, user } = await openTest({ plan: null, environment: { ADMIN_EMAILS: 'ada@example.com' } })
    expect(platform.storage.read(platform.db, user.id)?.limit).toBe(100 * GIGABYTE)
  })
})

describe('when storage is full', () => {
  test('POST /api/memory: 507 STORAGE_FULL with used and limit, until something is deleted', async () => {
    const { ask, agent, fill, used, platform } = await openTest()
    const save = (key: string, memory: string) => ask('POST', '/api/memory', { agentId: agent.id, key, memory })
    expect((await save('old', 'o'.repeat(50_000))).status).toBe(200)
    await fill(1000)
    const full = used()
    const response = await save('new', 'n'.repeat(2000))
    expect([response.status, await response.json()]).toEqual([507, isFull(full)])
    expect(platform.db.select({ key: agentMemory.key }).from(agentMemory).all()).toEqual([{ key: 'old' }])
    expect(used()).toBe(full)
    // Smaller writes and deletions are allowed.
    expect((await save('old', 'o'.repeat(40_000))).status).toBe(200)
    expect((await save('new', 'n'.repeat(2000))).status).toBe(200)
    expect((await ask('DELETE', `/api/memory?agentId=${agent.id}&key=old`)).status).toBe(200)
    expect(used()).toBeLessThan(full - 40_000)
  })

  test('POST /v1/memory and /v1/memory/import: 507 for requests of an agent', async () => {
    const { backend, platform, agent, fill, used } = await openTest()
    await fill(100)
    const headers = bearer(openTokens(platform.sealer, agent).accessToken)
    const said = await backend.request('/v1/memory', json('POST', { key: 'k', memory: 'm' }, headers))
    expect([said.status, await said.json()]).toMatchObject([507, { code: 'STORAGE_FULL', used: used() }])
    const facts = [{ key: 'k', text: 'm' }]
    expect((await backend.request('/v1/memory/import', json('POST', { facts }, headers))).status).toBe(507)
    expect(platform.db.select().from(agentMemory).all()).toEqual([])
  })

  test('POST /api/chat: 200 when a paid reply exceeds the limit, 507 for the next message', async () => {
    await using double = startAgentDouble(() => 'r'.repeat(5000))
    const { ask, agent, fill, used, web, cookie } = await openTest({ port: double.port })
    await fill(1000)
    const first = await ask('POST', '/api/chat', { agentId: agent.id, message: 'Hello' })
    expect([first.status, used() > GIGABYTE]).toEqual([200, true])
    const second = await ask('POST', '/api/chat', { agentId: agent.id, message: 'Again' })
    expect([second.status, await second.json()]).toEqual([507, isFull(used())])
    expect(double.questions).toHaveLength(1)
    const { messages: lines } = await read(MessageList, web.request('/api/chat', { headers: cookie }))
    expect(lines.map(({ content }) => content.length)).toEqual([5, 5000])
  })

  test('receiveMail throws storage_full until there is space, so that the mail service retries', async () => {
    const { platform, agent, fill } = await openTest()
    const mail = {
      from: 'bo@example.com',
      to: `${agent.id}@x.example`,
      subject: 'S',
      body: 'B',
      authentication: null,
      headers: [],
      messageId: null,
    }
    const receive = () =>
      write(platform.db, (tx) => receiveMail(platform, tx, readMail(mail), { text: mail.body ?? '', files: [] }))
    await fill(100)
    expect(await receive().catch(({ kind }) => kind)).toBe('storage_full')
    expect(platform.db.select().from(inboxMessages).all()).toEqual([])
    await fill(1000)
    expect(await receive()).toBe('processed')
  })

  test('POST /api/browse/write, upload, mkdir and git-sync: 507 until something is deleted', async () => {
    const { web, cookie, ask, agent, fill, used, workspace, measure } = await openTest()
    mkdirSync(workspace, { recursive: true })
    const at = `agentId=${agent.id}`
    const upload = (name: string, bytes: number) =>
      web.request(`/api/browse/upload?${at}&path=${name}`, {
        method: 'POST',
        headers: { ...cookie, 'content-type': 'application/octet-stream' },
        body: new Uint8Array(bytes),
      })
    expect((await upload('large.bin', 900_000)).status).toBe(201)
    await measure()
    expect(used()).toBeGreaterThan(900_000)
    await fill(3000)
    const full = used()
    const answers = [
      await upload('more.bin', 10_000),
      await ask('POST', `/api/browse/write?${at}`, { path: 'a.txt', content: 'a' }),
      await ask('POST', `/api/browse/mkdir?${at}`, { path: 'folder' }),
      await ask('POST', `/api/browse/git-sync?${at}`),
    ]
    for (const answer of answers)
      expect([answer.status, await answer.json()]).toEqual([507, { ok: false, ...isFull(full) }])
    expect(['more.bin', 'a.txt', 'folder'].some((name) => existsSync(join(workspace, name)))).toBe(false)
    expect((await ask('DELETE', `/api/browse/delete?${at}&path=large.bin`)).status).toBe(200)
    await measure()
    expect(used()).toBeLessThan(100_000)
    expect((await upload('more.bin', 10_000)).status).toBe(201)
  })

  test('POST /api/browse/upload: concurrent uploads reserve separate space, which a failed one releases', async () => {
    const { web, cookie, agent, addAgent, fill, used, platform } = await openTest()
    const other = await addAgent()
    for (const { id } of [agent, other])
      mkdirSync(join(platform.agentsFolder, id, 'state', 'workspace'), { recursive: true })
    await fill(150_000)
    const upload = ({ id }: { id: string }, path: string) =>
      web.request(`/api/browse/upload?agentId=${id}&path=${path}`, {
        method: 'POST',
        headers: { ...cookie, 'content-type': 'application/octet-stream' },
        body: new Uint8Array(100_000),
      })
    const before = used()
    expect((await upload(agent, '../out')).status).toBe(400)
    expect(used()).toBe(before)
    const statuses = (await Promise.all([upload(agent, 'a'), upload(other, 'b')])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([201, 507])
  })
})

describe('used storage', () => {
  test('counts files without following links, measured outside requests', async () => {
    const { workspace, measure, used, clock } = await openTest()
    mkdirSync(join(workspace, 'below'), { recursive: true })
    symlinkSync('/', join(workspace, 'everything'))
    writeFileSync(join(workspace, 'below', 'one'), new Uint8Array(500_000))
    await measure()
    const first = used()
    expect(first).toBeGreaterThan(500_000)
    expect(first).toBeLessThan(600_000)
    writeFileSync(join(workspace, 'two'), new Uint8Array(500_000))
    await measure()
    expect(used()).toBe(first)
    clock.advance(301_000)
    await measure()
    expect(used()).toBeGreaterThan(first + 499_000)
  })

  test('counts every insert, update and delete of rows', async () => {
    await using double = startAgentDouble(({ message }) => `You said ${message} – ünïcödé`)
    const { ask, agent, addAgent, user, platform, used } = await openTest({ port: double.port })
    const other = await addAgent()
    for (const { id } of [agent, other]) {
      await ask('POST', '/api/chat', { agentId: id, message: 'Grüße' })
      await ask('POST', '/api/memory', { agentId: id, memory: { a: 'ä'.repeat(100), b: [1, 2] } })
      await ask('POST', '/api/memory', { agentId: id, key: 'a', memory: 'short' })
    }
    const mail = {
      from: 'bo@example.com',
      to: `${agent.id}@x.example`,
      subject: 'S',
      body: 'B',
      authentication: null,
      headers: [],
      messageId: null,
    }
    await write(platform.db, (tx) => receiveMail(platform, tx, readMail(mail), { text: mail.body ?? '', files: [] }))
    await write(platform.db, (tx) => tx.update(inboxMessages).set({ reply: 'A long reply' }).run())
    const call = { name: 'read_file', arguments: '{}', result: 'ü'.repeat(4000), success: true, durationMs: 1 }
    await write(platform.db, (tx) => {
      const before = used()
      for (const { id } of tx.select().from(chatTurns).all()) {
        tx.insert(chatToolCalls)
          .values({ ...call, turnId: id, start: 0 })
          .run()
      }
      expect(used() - before).toBe(200 + 9 + 2 + 8000)
    })
    const kept = used()
    const { sqlite } = platform.connection
    const recount = () => {
      for (const statement of STORAGE_FIGURES.recount) sqlite.exec(statement)
      return used()
    }
    expect(kept).toBeGreaterThan(1000)
    expect(recount()).toBe(kept)
    await write(platform.db, (tx) => tx.delete(messages).where(eq(messages.agentId, agent.id)).run())
    expect(platform.db.select().from(chatToolCalls).all()).toEqual([])
    expect([kept - used() > 8000, used()]).toEqual([true, recount()])
    await write(platform.db, (tx) => tx.delete(agents).where(eq(agents.id, other.id)).run())
    expect(used()).toBeLessThan(kept)
    expect(used()).toBe(recount())
    await write(platform.db, (tx) => tx.update(agents).set({ ownerId: null }).where(eq(agents.id, agent.id)).run())
    expect([used(), platform.db.select().from(userStorage).all()]).toEqual([
      0,
      [{ userId: user.id, usedBytes: 0, grantedBytes: 0 }],
    ])
    await write(platform.db, (tx) => tx.update(agents).set({ ownerId: user.id }).where(eq(agents.id, agent.id)).run())
    expect(used()).toBe(recount())
  })
})
