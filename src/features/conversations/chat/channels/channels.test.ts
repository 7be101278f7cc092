import { expect, onTestFinished, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { hangs } from '../../../../../tests/harness/doubles/platform.ts'
import { startTelegramDouble } from '../../../../../tests/harness/doubles/telegram.ts'
import { startOwnedAgent } from '../../../../../tests/harness/owned-agent.ts'
import { read } from '../../../../../tests/harness/requests.ts'
import { until } from '../../../../../tests/harness/until.ts'
import { sha256 } from '../../../../core/secrets.ts'
import { write } from '../../../../db/write.ts'
import { Overview } from '../../../admin/overview/schemas.ts'
import { AgentMessages } from '../../../agents/registry/schemas.ts'
import { agents } from '../../../agents/registry/tables.ts'
import { ChatSessionList, ConversationList, ConversationMessages, MessageList, SearchResults } from '../schemas.ts'
import { messageDays, messages } from '../tables.ts'

const TOKEN = '42:secret-of-the-bot'
const ADA = { id: 7, first_name: 'Ada' }

/** Starts a real agent with a bot on a real platform; the person with the id 7 may write to it. */
async function startBotAgent() {
  const telegram = startTelegramDouble()
  const bot = telegram.addBot(TOKEN)
  const channels = { telegram: { token: TOKEN, apiUrl: telegram.url, people: ['7'] }, retryMs: 20, editEveryMs: 20 }
  const owned = await startOwnedAgent({}, { channels, isReached: true })
  onTestFinished(async () => {
    await owned[Symbol.asyncDispose]()
    await telegram.stop()
  })
  const { platform, agent, asOwner } = owned
  const list = async (query = '') => (await read(MessageList, asOwner(`/api/chat${query}`))).messages
  return {
    ...owned,
    bot,
    list,
    sessions: async () => (await read(ChatSessionList, asOwner('/api/chat/sessions'))).sessions,
    /** Waits until the history has `count` messages. */
    lines: (count: number) => until(`${count} lines`, async () => (await list()).length === count),
    /** Stops the agent permanently, as its owner does. */
    async stopAgent() {
      await owned.running.stop(5000)
      const change = { status: 'stopped' as const, port: null }
      await write(platform.db, (tx) => tx.update(agents).set(change).where(eq(agents.id, agent.id)).run())
    },
  }
}

test('GET /api/chat and other lists: 200 with a Telegram conversation when the agent is stopped', async () => {
  const { bot, agent, asOwner, asStranger, list, sessions, stopAgent, platform } = await startBotAgent()
  bot.say(ADA, { text: 'Is there peppermint?' })
  await until('an answer', () => bot.textsIn(ADA.id).includes('You said: Is there peppermint?'))
  await stopAgent()

  expect(await list()).toMatchObject([
    { sender: 'user', content: 'Is there peppermint?', status: 'sent', platform: 'telegram', author: 'Ada' },
    { sender: 'agent', content: 'You said: Is there peppermint?', platform: 'telegram', author: null },
  ])
  const [session] = await sessions()
  expect(session).toMatchObject({ agentId: agent.id, platform: 'telegram', title: 'Ada' })
  expect((await list(`?sessionId=${session?.id}`)).length).toBe(2)
  expect((await list())[1]?.turn).toMatchObject({ model: 'served-1', inputTokens: 10, outputTokens: 5, restarts: 0 })

  const shown = await read(AgentMessages, asOwner(`/api/agents/${agent.id}/messages`))
  expect(shown).toMatchObject({ total: 2, messages: [{ platform: 'telegram' }, { platform: 'telegram' }] })
  const found = await read(SearchResults, asOwner('/api/chat/search?q=peppermint'))
  expect(found.results.map(({ message }) => message.platform)).toEqual(['telegram', 'telegram'])
  expect(JSON.stringify(await (await asOwner('/api/memory?q=peppermint')).json())).toContain('peppermint?')
  const { conversations, steps } = await read(Overview, asOwner('/api/overview'))
  expect(conversations).toMatchObject([{ agentId: agent.id, excerpt: 'You said: Is there peppermint?' }])
  expect(steps.hello).toBeTrue()
  expect(platform.db.select().from(messageDays).all()).toMatchObject([{ asked: 1, failed: 0, answered: 1 }])
  expect(JSON.stringify(await (await asOwner('/api/fleet')).json())).toContain('"messagesToday":2')

  const path = `/api/agents/${agent.id}/conversations`
  const held = await read(ConversationList, asOwner(path))
  expect(held).toMatchObject({ conversations: [{ session: 'telegram:7', channel: 'telegram', messageCount: 2 }] })
  const { messages: lines } = await read(ConversationMessages, asOwner(`${path}/telegram:7`))
  expect(lines.map(({ role }) => role)).toEqual(['user', 'assistant'])
  const statusOf = async (response: Promise<Response>) => (await response).status
  expect(await statusOf(asOwner(`${path}/telegram:8`))).toBe(404)
  expect([await statusOf(asStranger(path)), await statusOf(asStranger(`${path}/telegram:7`))]).toEqual([404, 404])
  expect(JSON.stringify(await (await asStranger('/api/chat')).json())).not.toContain('peppermint')
})

test('POST /v1/channel-messages: 200 for messages during an outage of the platform, later, once and in order', async () => {
  const { bot, list, lines, setDown, running } = await startBotAgent()
  setDown(true)
  bot.say(ADA, { text: 'one' })
  bot.say(ADA, { text: 'two' })
  await until('two refusals', () => bot.textsIn(ADA.id).length === 2)
  await running.stop(0)
  setDown(false)
  await running.restart()
  await lines(2)
  expect((await list()).map(({ content, status }) => [content, status])).toEqual([
    ['one', 'failed'],
    ['two', 'failed'],
  ])
  bot.say(ADA, { text: 'three' })
  await lines(4)
}, 300_000)

test('POST /v1/channel-messages: 200 stores a stopped answer as stopped, and /new starts a conversation', async () => {
  const { bot, list, lines, sessions, running } = await startBotAgent()
  running.platform.next(hangs('Once upon').answerer)
  bot.say(ADA, { text: 'Tell' })
  await until('the first words', () => bot.textsIn(ADA.id).includes('Once upon'))
  bot.say(ADA, { text: '/stop' })
  await lines(2)
  expect((await list()).map(({ content, status }) => [content, status])).toEqual([
    ['Tell', 'sent'],
    ['Once upon', 'stopped'],
  ])
  bot.say(ADA, { text: '/new' })
  await until('the beginning', () => bot.textsIn(ADA.id).includes('This is a new conversation.'))
  bot.say(ADA, { text: 'Hello' })
  await lines(4)
  expect(await sessions()).toHaveLength(2)
})

test('POST /api/chat: 409 OTHER_PLATFORM in a Telegram conversation, which can be renamed and deleted', async () => {
  const { bot, asOwner, lines, sessions, platform, running } = await startBotAgent()
  bot.say(ADA, { text: 'Hello' })
  await lines(2)
  const [session] = await sessions()
  const path = `/api/chat/sessions/${session?.id}`
  const sent = await asOwner('/api/chat', 'POST', { message: 'Hi', sessionId: session?.id })
  expect([sent.status, await sent.json()]).toMatchObject([409, { code: 'OTHER_PLATFORM' }])
  const talked = await asOwner('/api/agent', 'POST', { action: 'chat', message: 'Hi', sessionId: session?.id })
  expect(talked.status).toBe(409)
  const first = platform.db.select().from(messages).all()[0]
  expect((await asOwner('/api/chat', 'POST', { message: 'Hi', replaces: first?.id })).status).toBe(404)
  expect((await asOwner(path, 'PATCH', { instructions: 'Rhyme' })).status).toBe(409)
  expect((await asOwner(path, 'PATCH', { title: 'Tea' })).status).toBe(200)
  expect((await asOwner(path, 'DELETE')).status).toBe(200)
  expect(platform.db.select().from(messages).all()).toBeEmpty()
  expect((await running.call('/sessions/telegram:7/history')).status).toBe(404)
  bot.say(ADA, { text: 'Again' })
  await lines(2)
  expect(await sessions()).toMatchObject([{ platform: 'telegram' }])
})

test('POST /api/agent chat: 200 in the web conversation, not in a newer one on Telegram', async () => {
  const { bot, asOwner, lines, list } = await startBotAgent()
  await asOwner('/api/agent', 'POST', { action: 'chat', message: 'First' })
  bot.say(ADA, { text: 'Hello' })
  await lines(4)
  await asOwner('/api/agent', 'POST', { action: 'chat', message: 'Second' })
  const shown = await list()
  expect(shown.at(-1)).toMatchObject({ platform: 'web', sessionId: shown[0]?.sessionId })
})

test('GET /api/agents/:id/conversations/:session: 200 with imported conversations of an earlier agent version, once', async () => {
  const { agent, asOwner, running, lines, sessions } = await startBotAgent()
  await running.restart(async () => {
    const entries = [
      { key: 'telegram:9', createdAt: '2026-01-01T00:00:00.000Z' },
      {
        messageCount: 2,
        messages: [
          { role: 'user', content: 'Old question', timestamp: '2026-01-01T00:00:00.000Z' },
          { role: 'assistant', content: 'Old answer', timestamp: '2026-01-01T00:00:01.000Z' },
        ],
      },
    ]
    await Bun.write(
      `${running.folder}/sessions/${sha256('telegram:9')}.jsonl`,
      entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''),
    )
    await Bun.file(`${running.folder}/channels/reported`).delete()
  })
  await lines(2)
  const found = await read(ConversationMessages, asOwner(`/api/agents/${agent.id}/conversations/telegram:9`))
  expect(found.messages.map(({ content }) => content)).toEqual(['Old question', 'Old answer'])
  await running.restart()
  await lines(2)
  expect(await sessions()).toMatchObject([{ lastActivity: '2026-01-01T00:00:01.000Z' }])
})
