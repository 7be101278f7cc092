import { expect, onTestFinished, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chunk, DONE, fails, hangs, says } from '../../../../tests/harness/doubles/platform.ts'
import { startTelegramDouble } from '../../../../tests/harness/doubles/telegram.ts'
import { channelOf, decidePairing, startTestAgent } from '../../../../tests/harness/test-agent.ts'
import { until } from '../../../../tests/harness/until.ts'

const TOKEN = '42:secret-of-the-bot'
const ADA = { id: 7, first_name: 'Ada' }
const PICTURE = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const EVE = { id: 66, first_name: 'Eve' }
const GROUP = { id: -100, type: 'supergroup' } as const

type Agent = Awaited<ReturnType<typeof startTestAgent>>

/** Starts an agent with a bot that Ada may write to. */
async function startBotAgent(token = TOKEN) {
  const telegram = startTelegramDouble()
  onTestFinished(() => telegram.stop())
  const bot = telegram.addBot(TOKEN)
  const settings = { token, apiUrl: telegram.url, people: [String(ADA.id)] }
  const agent = await startTestAgent({ channels: { telegram: settings, retryMs: 20, editEveryMs: 30 } })
  return { telegram, bot, agent, settings }
}

const decide = (agent: Agent, code: string, approve: boolean) => decidePairing(agent, 'telegram', code, approve)

test('telegram: edits one message while the model answers when a message arrives, and confirms its update', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  const slow = hangs('Good ', 'day, ')
  agent.platform.next(slow.answerer)
  bot.say(ADA, { text: 'Hello' })
  await until('the first words', () => bot.textsIn(ADA.id).includes('Good day,'))
  slow.release()
  await until('the whole answer', () => bot.textsIn(ADA.id).includes('Good day, late'))
  expect(bot.shown).toHaveLength(1)
  expect(bot.calls).toContain('sendChatAction')
  await until('the confirmation', () => bot.unconfirmed() === 0)
  const { connected, account, since } = await channelOf(agent)
  expect({ connected, account, since: since !== null }).toEqual({ connected: true, account: '@ada_bot', since: true })
  const sessions = await until('the session', async () => {
    const listed = JSON.parse(await (await agent.call('/sessions')).text()).sessions
    return listed.length > 0 && listed
  })
  expect(sessions.map(({ key }: { key: string }) => key)).toEqual(['telegram:7'])
})

test('POST /channels/:name/pairings/:code: 200 when the owner approves a stranger, who got only a code until then', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  bot.say(EVE, { text: 'Who are you?' })
  bot.say(EVE, { text: 'Hello?' })
  await until('the code, twice', () => bot.textsIn(EVE.id).length === 2)
  const { pairings } = await channelOf(agent)
  expect(pairings).toEqual([{ code: expect.stringMatching(/^[A-Z2-9]{8}$/), id: '66', name: 'Eve' }])
  const code = pairings[0]?.code ?? ''
  expect(bot.textsIn(EVE.id).every((text) => text.includes(code))).toBeTrue()
  expect(agent.platform.asked).toBeEmpty()

  expect((await decide(agent, 'WRONGONE', true)).status).toBe(404)
  expect((await decide(agent, code, true)).status).toBe(200)
  expect((await decide(agent, code, true)).status).toBe(404)
  bot.say(EVE, { text: 'And now?' })
  await until('an answer', () => bot.textsIn(EVE.id).includes('You said: And now?'))
  await agent.restart()
  bot.say(EVE, { text: 'Still?' })
  await until('an answer after a restart', () => bot.textsIn(EVE.id).includes('You said: Still?'))

  const remove = (id: string) => agent.call(`/channels/telegram/people/${id}`, { method: 'DELETE' })
  expect((await remove('66')).status).toBe(200)
  expect((await remove('66')).status).toBe(404)
  expect((await remove('7')).status).toBe(409)
  expect((await channelOf(agent)).people).toEqual([{ id: '7', isConfigured: true }])
})

test('telegram: keeps admitted people when the token of the bot changes, and forgets them when the bot changes', async () => {
  const { telegram, bot, agent, settings } = await startBotAgent()
  await using _ = agent
  bot.say(EVE, { text: 'Hi' })
  const pairing = await until('the code', async () => (await channelOf(agent)).pairings[0])
  await decide(agent, pairing.code, true)
  const restartWith = async (token: string) => {
    telegram.addBot(token)
    settings.token = token
    await agent.restart()
    return (await channelOf(agent)).people.map(({ id }) => id)
  }
  expect(await restartWith('42:renewed-secret-of-the-bot')).toEqual(['7', '66'])
  expect(await restartWith('43:secret-of-another-bot')).toEqual(['7'])
  expect(await restartWith(TOKEN)).toEqual(['7'])
})

test('telegram: sends a denied stranger neither an answer nor a new code; at most 20 strangers wait', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  bot.say(EVE, { text: 'Hi' })
  await until('the code', () => bot.textsIn(EVE.id).length === 1)
  const [pairing] = (await channelOf(agent)).pairings
  expect((await decide(agent, pairing?.code ?? '', false)).status).toBe(200)
  bot.say(EVE, { text: 'Hi again' })
  for (let id = 100; id < 125; id += 1) bot.say({ id, first_name: 'Stranger' }, { text: 'Hi' })
  bot.say(ADA, { text: 'Done?' })
  await until('the answer to the last', () => bot.textsIn(ADA.id).includes('You said: Done?'))
  expect(bot.textsIn(EVE.id)).toHaveLength(1)
  // A denied pairing counts until it expires.
  expect((await channelOf(agent)).pairings).toHaveLength(19)
})

test('telegram: answers in a group only when admitted people address the bot', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  const mention = { entities: [{ type: 'mention', offset: 0, length: 8 }] }
  bot.say(ADA, { text: 'Just between us' }, GROUP)
  bot.say(EVE, { text: '@ada_bot let me in', ...mention }, GROUP)
  const asked = bot.say(ADA, { text: '@Ada_bot what is up?', ...mention }, GROUP)
  await until('an answer', () => bot.textsIn(GROUP.id).length > 0)
  const mine = bot.shown[0]
  expect(mine).toMatchObject({ text: 'You said: Ada: what is up?', answerTo: asked })
  bot.say(ADA, { text: 'and you?', reply_to_message: { message_id: mine?.id, from: { id: 42 } } }, GROUP)
  await until('an answer to the reply', () => bot.textsIn(GROUP.id).includes('You said: Ada: and you?'))
  expect(bot.shown).toHaveLength(2)
  expect((await channelOf(agent)).pairings).toBeEmpty()
})

test('telegram: saves photos, files and voice notes in the workspace and names them in the message; the model sees photos', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  bot.addFile('small', 'photos/s.jpg', Buffer.from('small'))
  bot.addFile('large', 'photos/l.jpg', PICTURE)
  bot.addFile('voice', 'voice/v.oga', Buffer.from('ogg'))
  bot.addFile('huge', 'documents/h.bin', Buffer.from('x'), 30 * 1024 * 1024)
  bot.addFile('doc', 'documents/d.txt', Buffer.from('text'))
  const asked = agent.platform.nextAsked()
  bot.say(ADA, { caption: 'Look', photo: [{ file_id: 'small' }, { file_id: 'large' }] })
  const shown = JSON.stringify((await asked).messages)
  expect(shown).toContain(PICTURE.toString('base64'))
  expect(shown).toContain('inbox/telegram-7-1-1-photo.jpg')
  bot.say(ADA, { voice: { file_id: 'voice' } })
  bot.say(ADA, { document: { file_id: 'huge', file_name: 'huge.bin' } })
  bot.say(ADA, { document: { file_id: 'doc', file_name: '../../evil name.txt' } })
  await until('four answers', () => bot.textsIn(ADA.id).length === 4)
  const [, voice, huge, evil] = bot.textsIn(ADA.id)
  expect(voice).toContain('-voice.ogg')
  expect(huge).toContain('huge.bin: Bots may fetch at most 20 MB')
  const folder = join(agent.folder, 'workspace', 'inbox')
  expect(await readFile(join(folder, 'telegram-7-1-1-photo.jpg'))).toEqual(PICTURE)
  expect((await readdir(folder)).sort()).toHaveLength(3)
  expect(evil).toMatch(/inbox\/telegram-7-\d+-1-_.._evil_name\.txt/)
})

test('telegram: starts a session for /new, ends the answer for /stop and keeps its text', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  bot.say(ADA, { text: 'apples' })
  await until('an answer', () => bot.textsIn(ADA.id).includes('You said: apples'))
  bot.say(ADA, { text: '/new' })
  await until('its confirmation', () => bot.textsIn(ADA.id).includes('This is a new conversation.'))
  const slow = hangs('I begin ')
  agent.platform.next(slow.answerer)
  bot.say(ADA, { text: 'two' })
  bot.say(ADA, { text: 'three' })
  await until('the first words', () => bot.textsIn(ADA.id).includes('I begin'))
  expect(JSON.stringify(agent.platform.asked.at(-1)?.messages)).not.toContain('apples')
  bot.say(ADA, { text: '/stop' })
  await until('the end', () => bot.textsIn(ADA.id).includes('Stopped.'))
  bot.say(ADA, { text: '/stop@ada_bot' })
  await until('nothing left', () => bot.textsIn(ADA.id).includes('There is nothing to stop.'))
  expect(bot.textsIn(ADA.id)).not.toContain('You said: three')
  const { items } = JSON.parse(await (await agent.call('/sessions/telegram%3A7%3A3/history')).text())
  expect(items.map(({ content }: { content: string }) => content)).toEqual(['two', 'I begin '])
})

test('telegram: splits an answer over 4096 characters, in order and complete', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  const words = Array.from({ length: 2500 }, (_, index) => `w${index}`)
  agent.platform.next(says(...words.map((word) => `${word} `)))
  bot.say(ADA, { text: 'Talk' })
  const said = () => bot.textsIn(ADA.id).join(' ')
  await until('all of it', () => said().endsWith('w2499'))
  expect(said().split(/\s+/)).toEqual(words)
})

test('telegram: keeps the interval between edits, waits for a 429, and ignores an edit without changes', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  bot.failNext('sendMessage', 429, 'Too Many Requests: retry after 1', { retry_after: 1 })
  const startedAt = performance.now()
  bot.say(ADA, { text: 'Hello' })
  await until('an answer', () => bot.textsIn(ADA.id).includes('You said: Hello'))
  expect(performance.now() - startedAt).toBeGreaterThan(1000)

  agent.platform.next(() => trickle(20, 15))
  bot.say(ADA, { text: 'slowly' })
  await until('the whole answer', () => bot.textsIn(ADA.id).some((text) => text.endsWith('19')))
  const times = bot.shown.at(-1)?.times ?? []
  expect(times.length).toBeGreaterThan(2)
  // The last edit is not delayed.
  const gaps = times.slice(1, -1).map((time, index) => time - (times[index] ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThan(25)
  bot.failNext('editMessageText', 400, 'Bad Request: message is not modified: the same')
  bot.say(ADA, { text: 'again' })
  await until('another answer', () => bot.textsIn(ADA.id).includes('You said: again'))
})

test('telegram: sends the error message to the chat when a turn fails', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  agent.platform.next(fails(429, 'Daily token quota exceeded', 'rate_limit_error'))
  bot.say(ADA, { text: 'Hello' })
  await until('the reason', () => bot.textsIn(ADA.id).includes('I could not answer: Daily token quota exceeded'))
})

test("GET /channels: 200 with the error when another program reads the bot's messages; the agent reconnects later", async () => {
  const { telegram, bot, agent } = await startBotAgent()
  await using _ = agent
  await until('the connection', async () => (await channelOf(agent)).connected)
  await fetch(`${telegram.url}/bot${TOKEN}/getUpdates`, { method: 'POST', body: '{"timeout":0}' })
  await until('what is wrong', async () => (await channelOf(agent)).lastError?.message.includes('409'))
  expect((await channelOf(agent)).lastError?.message).toContain('Another program reads the messages of this bot')
  bot.say(ADA, { text: 'Hello' })
  await until('an answer', () => bot.textsIn(ADA.id).includes('You said: Hello'))
  expect((await channelOf(agent)).connected).toBeTrue()
})

test.each([['7:refused'], ['of-no-form']])(
  'GET /channels: 200 with the error when Telegram refuses the token %s, which is not retried',
  async (token) => {
    const { agent } = await startBotAgent(token)
    await using _ = agent
    await until('what is wrong', async () => (await channelOf(agent)).lastError)
    const { connected, lastError } = await channelOf(agent)
    expect({ connected, lastError: lastError?.message }).toEqual({
      connected: false,
      lastError: expect.stringContaining('Telegram refuses the token'),
    })
  },
)

test('GET /channels: 200 and empty without settings; 401 with another token, 404 when the channel is unknown', async () => {
  await using agent = await startTestAgent()
  expect(await (await agent.call('/channels')).json()).toEqual({ channels: [] })
  expect((await fetch(`${agent.url}/channels`)).status).toBe(401)
  expect((await decide(agent, 'ABCDEFGH', true)).status).toBe(404)
  expect((await agent.call('/channels/telegram/people/1', { method: 'DELETE' })).status).toBe(404)
})

test('telegram: answers again in the same message, then waiting messages, when it restarts during an answer', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  agent.platform.next(hangs('Half an ').answerer)
  bot.say(ADA, { text: 'long' })
  await until('the first words', () => bot.textsIn(ADA.id).includes('Half an'))
  bot.say(ADA, { text: 'next' })
  await until('the confirmation', () => bot.unconfirmed() === 0)
  await agent.stop(0)
  await agent.restart()
  await until('the answer to the second', () => bot.textsIn(ADA.id).includes('You said: next'))
  expect(bot.textsIn(ADA.id)).toEqual(['You said: long', 'You said: next'])
})

test('stop records the id of a message before it resolves when the message is being sent', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  bot.delayNext('sendMessage', 500)
  agent.platform.next(hangs('Half an ').answerer)
  bot.say(ADA, { text: 'long' })
  await until('the first words', () => bot.textsIn(ADA.id).includes('Half an'))
  await agent.stop(0)
  const inbox: unknown = JSON.parse(await readFile(join(agent.folder, 'channels/telegram-inbox.json'), 'utf8'))
  expect(inbox).toMatchObject({ waiting: [{ sentIds: [String(bot.shown[0]?.id)] }] })
  await agent.restart()
  await until('the answer', () => bot.textsIn(ADA.id).includes('You said: long'))
  expect(bot.textsIn(ADA.id)).toEqual(['You said: long'])
})

test('stop does not repeat a failure notice when it was sent during the stop', async () => {
  const { bot, agent } = await startBotAgent()
  await using _ = agent
  bot.delayNext('sendMessage', 500)
  agent.platform.next(fails(400, 'No such model'))
  bot.say(ADA, { text: 'fail' })
  await until('the notice', () => bot.textsIn(ADA.id).length === 1)
  await agent.stop(0)
  await agent.restart()
  bot.say(ADA, { text: 'next' })
  await until('the next answer', () => bot.textsIn(ADA.id).includes('You said: next'))
  expect(bot.textsIn(ADA.id)).toEqual([expect.stringContaining('I could not answer'), 'You said: next'])
})

function trickle(count: number, everyMs: number): Response {
  const body = async function* () {
    for (let index = 0; index < count; index += 1) {
      yield chunk({ content: ` ${index}` })
      await Bun.sleep(everyMs)
    }
    yield chunk({}, 'stop') + DONE
  }
  return new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
}
