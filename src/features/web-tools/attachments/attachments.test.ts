import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { startAgentDouble } from '../../../../tests/harness/doubles/agent.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { toPdf } from '../../../../tests/harness/rows/pdf.ts'
import { createPdfReader } from '../../../adapters/documents/pdf.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { agentStorage } from '../../agents/storage/tables.ts'
import { MessageList, OneAttachment, SentMessage } from '../../conversations/chat/schemas.ts'
import { chatAttachments } from '../../conversations/chat/tables.ts'

const PICTURE = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const SLOW_MS = 30_000

async function openTestInstallation() {
  const installation = testPlatform({})
  const { platform, clock, web, signIn } = installation
  const double = startAgentDouble(() => 'I see')
  const people = [await signIn('ada@example.com'), await signIn('eve@example.com')] as const
  const [{ user, cookie }] = people
  const kind = { name: 'Bo', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const agent = await write(platform.db, (tx) => {
    const row = insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: user.id })
    tx.update(agents).set({ port: double.port, runtime: 'process' }).where(eq(agents.id, row.id)).run()
    return row
  })
  mkdirSync(join(platform.agentsFolder, agent.id, 'state', 'workspace'), { recursive: true })
  const upload = (name: string, body: Uint8Array | string, by: Record<string, string> = cookie) =>
    web.request(`/api/chat/attachments?agentId=${agent.id}&name=${encodeURIComponent(name)}`, {
      method: 'POST',
      headers: { ...by, 'content-type': 'application/octet-stream' },
      body: typeof body === 'string' ? body : new Uint8Array(body),
    })
  const attach = async (name: string, body: Uint8Array | string) => {
    const response = await upload(name, body)
    expect(response.status).toBe(201)
    return (await read(OneAttachment, response)).attachment
  }
  return {
    ...installation,
    double,
    agent,
    upload,
    attach,
    user,
    cookie,
    eve: people[1],
    ask: (body: object, by: Record<string, string> = cookie) => web.request('/api/chat', json('POST', body, by)),
    lines: async () => (await read(MessageList, web.request('/api/chat', { headers: cookie }))).messages,
    onDisk: (path: string) => join(platform.agentsFolder, agent.id, 'state', 'workspace', path),
    [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
  }
}

test('POST /api/chat/attachments: 201 stores the file in the workspace; the agent gets path and text, and the history lists it', async () => {
  await using it = await openTestInstallation()
  const notes = await it.attach('../Meine Notizen?.txt', 'Tea at four.')
  expect(notes).toEqual({
    id: expect.stringMatching(/^att_/),
    name: '../Meine Notizen?.txt',
    mediaType: 'text/plain',
    sizeBytes: 12,
    path: `attachments/${notes.id}-Meine-Notizen-.txt`,
  })
  expect(readFileSync(it.onDisk(notes.path), 'utf8')).toBe('Tea at four.')
  const picture = await it.attach('cat.png', PICTURE)
  expect(picture.mediaType).toBe('image/png')
  const sent = await it.ask({ message: 'What is it?', attachments: [notes.id, picture.id] })
  expect(sent.status).toBe(200)
  const reported = it.double.questions[0]?.message ?? ''
  expect(reported).toStartWith('What is it?\n\n[Attached file, in your workspace at attachments/')
  expect(reported).toContain('\nTea at four.\n')
  expect(reported).toContain(picture.path)
  expect(await it.lines()).toMatchObject([
    { content: 'What is it?', attachments: [notes, picture] },
    { sender: 'agent' },
  ])
})

test('POST /api/chat: 404 when an attachment is missing, another user’s or of another message, and nothing is stored', async () => {
  await using it = await openTestInstallation()
  const { id } = await it.attach('a.txt', 'a')
  expect((await it.ask({ message: 'One', attachments: [id, 'att_unknown'] })).status).toBe(404)
  expect((await it.ask({ message: 'Hi', agentId: it.agent.id, attachments: [id] }, it.eve.cookie)).status).toBe(404)
  expect(await it.lines()).toEqual([])
  expect((await it.ask({ message: 'One', attachments: [id] })).status).toBe(200)
  expect((await it.ask({ message: 'Two', attachments: [id] })).status).toBe(404)
})

test('POST /api/chat: 200 with replaces keeps the files of the earlier message unless others are named', async () => {
  await using it = await openTestInstallation()
  const { id, path } = await it.attach('a.txt', 'Tea at four.')
  const { id: first } = await read(SentMessage, it.ask({ message: 'One', attachments: [id] }))
  const { id: second } = await read(SentMessage, it.ask({ message: 'Two', replaces: first }))
  expect(it.double.questions[1]?.message).toContain('Tea at four.')
  expect(await it.lines()).toMatchObject([{ content: 'Two', attachments: [{ path }] }, {}])
  await it.ask({ message: 'Three', replaces: second, attachments: [] })
  expect(it.double.questions[2]?.message).toBe('Three')
})

test('POST /api/chat/attachments: 400 when the file is no image, PDF or text, 413 when it is large, 404 for a stranger', async () => {
  await using it = await openTestInstallation()
  const statuses = await Promise.all([
    it.upload('a.zip', Buffer.from('504b0304140000', 'hex')),
    it.upload('empty.txt', ''),
    it.upload('', 'text'),
    it.upload('large.txt', 'a'.repeat(1024 * 1024 + 1)),
    it.upload('large.png', Buffer.concat([PICTURE, Buffer.alloc(4 * 1024 * 1024)])),
    it.upload('a.txt', 'a', it.eve.cookie),
    it.upload('a.txt', 'a', {}),
  ])
  expect(statuses.map(({ status }) => status)).toEqual([400, 400, 400, 413, 413, 404, 401])
  expect(it.platform.db.select().from(chatAttachments).all()).toEqual([])
  expect(existsSync(it.onDisk('attachments'))).toBe(false)
})

test('POST /api/chat/attachments: 507 STORAGE_FULL when the storage is full, 429 when too many attachments are unsent', async () => {
  await using it = await openTestInstallation()
  const { platform, clock } = it
  const fill = (bytes: ReturnType<typeof sql>) =>
    write(platform.db, (tx) => tx.update(agentStorage).set({ workspaceBytes: bytes }).run())
  const before = platform.storage.read(platform.db, it.user.id)
  await fill(sql`${(before?.limit ?? 0) - 5000}`)
  const full = await it.upload('a.txt', 'a'.repeat(2000))
  expect([full.status, await full.json()]).toMatchObject([507, { code: 'STORAGE_FULL' }])
  expect(existsSync(it.onDisk('attachments'))).toBe(false)
  await fill(sql`0`)
  const { id } = await it.attach('a.txt', 'a')
  await write(platform.db, (tx) => {
    const row = tx.select().from(chatAttachments).where(eq(chatAttachments.id, id)).get()
    if (!row) throw new Error('It was not stored')
    for (let more = 1; more < 50; more += 1) {
      const { sequence: _, ...rest } = row
      tx.insert(chatAttachments)
        .values({ ...rest, id: `att_${more}` })
        .run()
    }
  })
  const tooMany = await it.upload('b.txt', 'b')
  expect([tooMany.status, await tooMany.json()]).toMatchObject([429, { current: 50, limit: 50 }])
  clock.advance(25 * 3_600_000)
  expect((await it.upload('b.txt', 'b')).status).toBe(201)
  expect(platform.db.select().from(chatAttachments).all()).toHaveLength(1)
})

test(
  'POST /api/chat/attachments: 201 stores the text of a PDF next to it and sends it to the agent; 400 for a damaged PDF',
  async () => {
    await using it = await openTestInstallation()
    const { id, path, mediaType } = await it.attach('plan.pdf', toPdf('Tea is served at four'))
    expect(mediaType).toBe('application/pdf')
    expect(readFileSync(it.onDisk(`${path}.txt`), 'utf8')).toContain('Tea is served at four')
    await it.ask({ message: 'When?', attachments: [id] })
    expect(it.double.questions[0]?.message).toContain('Tea is served at four')
    expect((await it.upload('bad.pdf', '%PDF-1.4 and nothing else')).status).toBe(400)
  },
  SLOW_MS,
)

test(
  'createPdfReader ends its process when a PDF exceeds the time or memory limit, and limits concurrent reads',
  async () => {
    const bytes = toPdf('Hello')
    const failing = [createPdfReader({ readMs: 1 }), createPdfReader({ maxMemoryBytes: 1 })]
    for (const reader of failing) expect(await reader.read(bytes).catch(({ kind }) => kind)).toBe('invalid')
    const reader = createPdfReader()
    const results = await Promise.all([1, 2, 3].map(() => reader.read(bytes).catch(({ kind }) => kind)))
    expect(results.map((text) => text.includes('Hello'))).toEqual([true, true, false])
    expect(results[2]).toBe('unavailable')
    expect(await reader.read(bytes)).toContain('Hello')
  },
  SLOW_MS,
)
