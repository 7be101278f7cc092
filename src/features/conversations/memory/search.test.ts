import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { callsTool, says } from '../../../../tests/harness/doubles/platform.ts'
import { startOwnedAgent } from '../../../../tests/harness/owned-agent.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { agentStorage } from '../../agents/storage/tables.ts'
import { messages } from '../chat/tables.ts'
import { Memory, MemoryFound } from './schemas.ts'

type Owner = Awaited<ReturnType<typeof agentOwner>>

/** Inserts messages of a conversation. */
function say({ platform, clock, user, agent }: Owner, ...lines: string[]): Promise<void> {
  const line = { userId: user.id, agentId: agent.id, sender: 'user', status: 'sent', createdAt: clock.now() } as const
  return write(platform.db, (tx) => {
    for (const content of lines)
      tx.insert(messages)
        .values({ ...line, id: `msg_${content}`, content })
        .run()
  })
}

async function open() {
  const owner = await agentOwner()
  const { agent, asOwner, asAgent } = owner
  return {
    ...owner,
    save: (memory: object) => asOwner('/api/memory', 'POST', { agentId: agent.id, memory }),
    find: (query: string) => read(MemoryFound, asOwner(`/api/memory?agentId=${agent.id}&${query}`)),
    findAsAgent: (query: string) => read(MemoryFound, asAgent(`/v1/memory/search?${query}`)),
  }
}

const toNames = ({ results }: MemoryFound) =>
  results.map((found) => (found.kind === 'fact' ? found.key : found.message.content))

test('GET /api/memory?q=: 200 with facts and then messages, page by page to the end, newest first', async () => {
  const ada = await open()
  await ada.save({ one: 'green tea', two: { drinks: ['tea', 'water'] }, three: 'coffee' })
  await say(ada, 'tea first', 'coffee', 'tea second', 'tea third')
  const all = await ada.find('q=te')
  expect(toNames(all)).toEqual(['two', 'one', 'tea third', 'tea second', 'tea first'])
  expect([all.hasMore, all.next]).toEqual([false, null])
  for (const limit of [1, 2, 3, 4]) {
    const names: string[] = []
    for (let before: string | null = ''; before !== null; ) {
      const page: MemoryFound = await ada.find(`q=TEA&limit=${limit}${before && `&before=${before}`}`)
      expect(page.results.length).toBeGreaterThan(0)
      names.push(...toNames(page))
      before = page.next
    }
    expect(names).toEqual(toNames(all))
  }
  expect((await ada.find('q=green'))?.results[0]?.snippet).toEqual([
    { text: 'green', isFound: true },
    { text: ' tea', isFound: false },
  ])
})

test('GET /api/memory?q=: 200 without changed and deleted facts and those of deleted agents; keys are searched too', async () => {
  const ada = await open()
  await ada.save({ 'favourite-drink': 'tea\nwith milk' })
  expect(toNames(await ada.find('q=favourite milk'))).toEqual(['favourite-drink'])
  await ada.save({ 'favourite-drink': 'coffee' })
  expect(toNames(await ada.find('q=milk'))).toEqual([])
  expect(toNames(await ada.find('q=coffee'))).toEqual(['favourite-drink'])
  await ada.asOwner(`/api/memory?agentId=${ada.agent.id}&key=favourite-drink`, 'DELETE')
  expect(toNames(await ada.find('q=coffee'))).toEqual([])
})

test('GET /api/memory?q=: 200 without facts of another owner; 404 for another user’s agent, 400 when the page is invalid', async () => {
  const ada = await open()
  await ada.save({ secret: 'harbour' })
  await say(ada, 'harbour')
  const all = await read(MemoryFound, ada.asStranger('/api/memory?q=harbour'))
  expect(all).toEqual({ results: [], hasMore: false, next: null })
  for (const id of [ada.agent.id, 'agent-missing']) {
    expect((await ada.asStranger(`/api/memory?q=harbour&agentId=${id}`)).status).toBe(404)
  }
  const bad = ['q=', `q=${'x'.repeat(201)}`, 'q=a&limit=0', 'q=a&limit=101']
  for (const query of bad) expect((await ada.asOwner(`/api/memory?${query}`)).status).toBe(400)
  for (const q of ['"', '*', 'NOT', 'a" OR "b', 'agent_id:', '{key} : a', ')(', 'NEAR(']) {
    expect((await ada.asOwner(`/api/memory?q=${encodeURIComponent(q)}`)).status).toBe(200)
  }
})

test('GET /v1/memory/search: 200 with facts in every session, and messages of the owner only in the owner’s sessions', async () => {
  const ada = await open()
  await ada.save({ place: 'harbour' })
  await say(ada, 'harbour at nine')
  const session = `user:${ada.user.id}`
  expect(toNames(await ada.findAsAgent(`q=harbour&session=${session}`))).toEqual(['place', 'harbour at nine'])
  for (const other of ['', '&session=telegram:1', '&session=mail:eve@example.com', '&session=agent:x']) {
    expect(toNames(await ada.findAsAgent(`q=harbour${other}`))).toEqual(['place'])
  }
  const strangers = ada.asAgent(
    `/v1/memory/search?q=harbour&session=${session}`,
    'GET',
    undefined,
    ada.strangersAgent.headers,
  )
  expect((await read(MemoryFound, strangers)).results).toEqual([])
  expect((await ada.asAgent('/v1/memory/search')).status).toBe(400)
  expect((await ada.asAgent('/v1/memory/search?q=a', 'GET', undefined, { authorization: 'Bearer agt_x' })).status).toBe(
    401,
  )
})

test('GET /v1/memory: 200 with source, session, page and time of a fact, which counts as storage', async () => {
  const ada = await open()
  const used = () =>
    ada.platform.db.select().from(agentStorage).where(eq(agentStorage.agentId, ada.agent.id)).get()?.memoryBytes ?? 0
  const fact = { key: 'opens', memory: 'at nine', session: 'telegram:7', page: 'https://example.com/hours' }
  expect((await ada.asAgent('/v1/memory', 'POST', fact)).status).toBe(200)
  const createdAt = ada.clock.now().toISOString()
  expect(used()).toBe(200 + 'opens"at nine"telegram:7https://example.com/hours'.length)
  const sources = async () => (await read(Memory, ada.asOwner(`/api/memory?agentId=${ada.agent.id}`))).sources
  const { key: _, memory: __, ...where } = fact
  expect(await sources()).toEqual({ opens: { source: 'agent', ...where, createdAt, updatedAt: createdAt } })
  ada.clock.advance(1000)
  await ada.save({ opens: 'at ten' })
  const updatedAt = ada.clock.now().toISOString()
  expect(await sources()).toEqual({ opens: { source: 'user', session: null, page: null, createdAt, updatedAt } })
  expect(used()).toBe(200 + 'opens"at ten"'.length)
  const bad = await ada.asAgent('/v1/memory', 'POST', { ...fact, page: 'nowhere' })
  expect(bad.status).toBe(400)
})

test('search_memory and remember: the model finds stored facts with their session and page', async () => {
  await using agent = await startOwnedAgent()
  const { running } = agent
  await running.runTool('remember', { fact: 'It opens at nine', name: 'opens', page: 'https://example.com/hours' })
  const found = JSON.parse(await running.runTool('search_memory', { query: 'nine' }))
  expect(found).toEqual({
    results: [
      {
        fact: 'opens',
        text: 'It opens at nine',
        source: 'agent',
        session: null,
        page: 'https://example.com/hours',
        at: expect.any(String),
      },
    ],
    next: null,
  })
  await say(agent, 'nine o’clock')
  agent.model.next(callsTool('search_memory', { query: 'nine' }), says('done'))
  await running.chat('When?', `user:${agent.user.id}`)
  const shown = String(agent.model.asked.at(-1)?.messages.find(({ role }) => role === 'tool')?.content)
  expect(JSON.parse(shown).results).toMatchObject([{ fact: 'opens' }, { saidBy: 'user', text: 'nine o’clock' }])
})
