import { expect, onTestFinished, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startDiscordDouble } from '../../../../tests/harness/doubles/discord.ts'
import { hangs, says } from '../../../../tests/harness/doubles/platform.ts'
import { channelOf, decidePairing, startTestAgent } from '../../../../tests/harness/test-agent.ts'
import { until } from '../../../../tests/harness/until.ts'

const TOKEN = 'token-of-the-bot'
const ADA = { id: '7000000000000000007', username: 'ada', global_name: 'Ada' }
const EVE = { id: '6600000000000000066', username: 'eve' }
const SERVER = { channelId: '5500000000000000055', serverId: '4400000000000000044' }
const PICTURE = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

/** Starts an agent with a bot that Ada may write to. */
async function startBotAgent(token = TOKEN) {
  const discord = startDiscordDouble()
  onTestFinished(() => discord.stop())
  const bot = discord.addBot(TOKEN)
  const settings = { token, apiUrl: discord.url, people: [ADA.id] }
  const agent = await startTestAgent({ channels: { discord: settings, retryMs: 20, editEveryMs: 30 } })
  const channel = () => channelOf(agent)
  return { discord, bot, agent, channel, toAda: () => bot.textsIn(bot.directChannelOf(ADA)) }
}

async function startListeningAgent() {
  const started = await startBotAgent()
  await until('the connection', async () => (await started.channel()).connected)
  return started
}

test('discord: edits one message while the model answers when a direct message arrives', async () => {
  const { bot, agent, channel, toAda } = await startListeningAgent()
  await using _ = agent
  const slow = hangs('Good ', 'day, ')
  agent.platform.next(slow.answerer)
  bot.say(ADA, 'Hello')
  await until('the first words', () => toAda().includes('Good day,'))
  slow.release()
  await until('the whole answer', () => toAda().includes('Good day, late'))
  expect(bot.shown).toHaveLength(1)
  expect(bot.calls).toContain('POST typing')
  const { connected, account, since, lastError } = await channel()
  expect({ connected, account, since: since !== null, lastError }).toEqual({
    connected: true,
    account: '@ada_bot',
    since: true,
    lastError: null,
  })
  const listKeys = async () => {
    const { sessions } = JSON.parse(await (await agent.call('/sessions')).text())
    return sessions.map(({ key }: { key: string }) => key)
  }
  // A turn is stored after its last words were sent.
  await until('the session', async () => (await listKeys()).length > 0)
  expect(await listKeys()).toEqual([`discord:${bot.directChannelOf(ADA)}`])
})

test('POST /channels/:name/pairings/:code: 200 when the owner approves a stranger, who got only a code until then', async () => {
  const { bot, agent, channel } = await startListeningAgent()
  await using _ = agent
  const toEve = () => bot.textsIn(bot.directChannelOf(EVE))
  bot.say(EVE, 'Who are you?')
  await until('the code', () => toEve().length === 1)
  const { pairings } = await channel()
  expect(pairings).toMatchObject([{ id: EVE.id, name: 'eve (@eve)' }])
  expect(toEve()[0]).toContain(pairings[0]?.code ?? 'no code')
  expect(agent.platform.asked).toBeEmpty()
  expect((await decidePairing(agent, 'discord', pairings[0]?.code ?? '', true)).status).toBe(200)
  await until('the welcome', () => toEve().includes('You can write to me now.'))
  bot.say(EVE, 'And now?')
  await until('an answer', () => toEve().includes('You said: And now?'))
})

test('discord: answers on a server only when admitted people mention the bot', async () => {
  const { bot, agent, channel } = await startListeningAgent()
  await using _ = agent
  const mentions = [bot.me]
  const mention = `<@${bot.me.id}>`
  bot.say(ADA, 'Just between us', SERVER)
  bot.say(EVE, `${mention} let me in`, { ...SERVER, mentions })
  bot.say({ ...ADA, username: 'other' }, `${mention} I am a bot`, {
    ...SERVER,
    mentions,
    more: { author: { ...ADA, bot: true } },
  })
  const asked = bot.say(ADA, `${mention} ask <@${EVE.id}>`, { ...SERVER, mentions: [bot.me, EVE] })
  const shown = () => bot.textsIn(SERVER.channelId)
  await until('an answer', () => shown().length > 0)
  expect(bot.shown).toMatchObject([{ text: 'You said: Ada (@ada): ask @eve', answerTo: asked }])
  bot.say(ADA, `${mention} /new`, { ...SERVER, mentions })
  await until('a new conversation', () => shown().includes('This is a new conversation.'))
  expect((await channel()).pairings).toBeEmpty()
  expect(agent.platform.asked).toHaveLength(1)
})

test('discord: saves files in the workspace and names them in the message; the model sees images', async () => {
  const { bot, agent, toAda } = await startListeningAgent()
  await using _ = agent
  const attachments = [
    bot.addFile('cat.png', PICTURE),
    { ...bot.addFile('gone.txt', PICTURE), url: `${agent.url}/gone` },
  ]
  const asked = agent.platform.nextAsked()
  const id = bot.say(ADA, 'Look', { more: { attachments } })
  const shown = JSON.stringify((await asked).messages)
  expect(shown).toContain(PICTURE.toString('base64'))
  const name = `discord-${id}-1-cat.png`
  expect(shown).toContain(`inbox/${name}`)
  expect(await readFile(join(agent.folder, 'workspace', 'inbox', name))).toEqual(PICTURE)
  expect(shown).toContain('gone.txt: Discord did not hand it out')
  await until('the answer', () => toAda().length === 1)
})

test('discord: splits an answer over 2000 characters, and retries 429 and 5xx without duplicates', async () => {
  const { bot, agent, toAda } = await startListeningAgent()
  await using _ = agent
  const words = Array.from({ length: 1000 }, (_, index) => `w${index}`)
  agent.platform.next(says(...words.map((word) => `${word} `)))
  bot.limitNext('POST message', 1)
  bot.failNext('POST message', 502, { message: 'Bad gateway' })
  const startedAt = performance.now()
  bot.say(ADA, 'Talk')
  await until('all of it', () => toAda().join(' ').endsWith('w999'))
  expect(toAda().join(' ').split(/\s+/)).toEqual(words)
  expect(performance.now() - startedAt).toBeGreaterThan(1000)
}, 300_000)

test('discord: continues when a message was deleted or a person blocks the bot', async () => {
  const { bot, agent, toAda } = await startListeningAgent()
  await using _ = agent
  bot.failNext('POST message', 403, { message: 'Cannot send messages to this user', code: 50_007 })
  bot.failNext('POST message', 403, { message: 'Cannot send messages to this user', code: 50_007 })
  bot.say(ADA, 'one')
  const slow = hangs('Half ')
  await until('the refusal', () => bot.calls.filter((call) => call === 'POST message').length === 2)
  agent.platform.next(slow.answerer)
  bot.say(ADA, 'two')
  await until('the first words', () => toAda().includes('Half'))
  bot.failNext('PATCH message', 404, { message: 'Unknown Message', code: 10_008 })
  slow.release()
  bot.say(ADA, 'three')
  await until('the answer to the third', () => toAda().includes('You said: three'))
})

test('GET /channels: 200 with the last error when a connection breaks, closes or resets; the bot answers each message once', async () => {
  const { bot, agent, channel, toAda } = await startListeningAgent()
  await using _ = agent
  const identifiedOnce = bot.sessions()
  const disturbances = [
    () => bot.breakConnections(),
    () => bot.closeAll(1001),
    () => bot.askToReconnect(),
    () => bot.closeAll(4000),
  ]
  for (const [index, disturb] of disturbances.entries()) {
    disturb()
    bot.say(ADA, `after ${index}`)
    await until('the answer', () => toAda().includes(`You said: after ${index}`))
  }
  expect(bot.sessions()).toBe(identifiedOnce)
  expect((await channel()).lastError?.message).toStartWith('Discord closed the connection (')
  bot.forgetSessions()
  bot.closeAll(4000)
  await until('a new session', () => bot.connections() === 1)
  bot.say(ADA, 'new session')
  await until('the answer', () => toAda().includes('You said: new session'))
  expect(toAda()).toHaveLength(disturbances.length + 1)
  expect((await channel()).connected).toBeTrue()
}, 300_000)

test('GET /channels: 200 with the error when Discord refuses or revokes a token, which is not retried', async () => {
  const { agent, channel } = await startBotAgent('wrong')
  await using _ = agent
  const wrong = await until('what is wrong', async () => (await channel()).lastError)
  expect(wrong.message).toBe('Discord refuses the token (401 Unauthorized): set another one')

  const second = await startListeningAgent()
  await using __ = second.agent
  second.discord.revoke(TOKEN)
  const revoked = await until('what is wrong', async () => (await second.channel()).lastError)
  expect(revoked.message).toContain('4004 Authentication failed')
  expect((await second.channel()).connected).toBeFalse()
})

test('GET /channels: 200 with the error when Discord does not allow the intents', async () => {
  const { discord, agent, channel } = await startBotAgent('strict')
  await using _ = agent
  discord.addBot('strict').forbidIntents()
  await agent.restart()
  const error = await until('what is wrong', async () => {
    const { lastError } = await channel()
    return lastError?.message.includes('4014') ? lastError : null
  })
  expect(error.message).toContain('allow them in the developer portal')
})

test('GET /channels: 200 with the error when Discord is unreachable, which is retried', async () => {
  const settings = { token: TOKEN, apiUrl: 'http://127.0.0.1:1', people: [ADA.id] }
  await using agent = await startTestAgent({ channels: { discord: settings, retryMs: 20, editEveryMs: 30 } })
  const error = await until('what is wrong', async () => (await channelOf(agent)).lastError)
  expect(error.message).toBe('Discord cannot be reached; trying again')
})

test('discord: answers again in the same message, then newer messages once, when it restarts during an answer', async () => {
  const { bot, agent, toAda } = await startListeningAgent()
  await using _ = agent
  agent.platform.next(hangs('Half an ').answerer)
  const first = bot.say(ADA, 'long')
  await until('the first words', () => toAda().includes('Half an'))
  bot.say(ADA, 'next')
  await agent.stop(0)
  bot.say(ADA, 'meanwhile')
  await agent.restart()
  await until('the answer to the last', () => toAda().includes('You said: meanwhile'))
  bot.redeliver(first)
  bot.say(ADA, 'last')
  await until('the answer to the last', () => toAda().includes('You said: last'))
  expect(toAda()).toEqual(['You said: long', 'You said: next', 'You said: meanwhile', 'You said: last'])
})
