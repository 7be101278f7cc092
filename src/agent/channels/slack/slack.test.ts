import { expect, onTestFinished, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hangs, says } from '../../../../tests/harness/doubles/platform.ts'
import { startSlackDouble } from '../../../../tests/harness/doubles/slack.ts'
import { channelOf, decidePairing, startTestAgent } from '../../../../tests/harness/test-agent.ts'
import { until } from '../../../../tests/harness/until.ts'

const BOT_TOKEN = 'xoxb-of-the-bot'
const APP_TOKEN = 'xapp-of-the-app'
const ADA = { id: 'U7', name: 'ada', real_name: 'Ada' }
const EVE = { id: 'U66', name: 'eve' }
const CHANNEL = 'C1'
const PICTURE = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

/** Starts an agent with an app that Ada may write to. */
async function startSlackAgent({ token = BOT_TOKEN, appToken = APP_TOKEN, isAway = false } = {}) {
  const slack = startSlackDouble()
  onTestFinished(() => slack.stop())
  const app = slack.addApp(BOT_TOKEN, APP_TOKEN)
  const apiUrl = isAway ? 'http://127.0.0.1:1' : slack.url
  const settings = { token, appToken, apiUrl, people: [ADA.id] }
  const agent = await startTestAgent({ channels: { slack: settings, retryMs: 20, editEveryMs: 30 } })
  return { app, agent, channel: () => channelOf(agent), toAda: () => app.textsIn(app.directChannelOf(ADA)) }
}

async function startListeningAgent() {
  const started = await startSlackAgent()
  await until('the connection', async () => (await started.channel()).connected)
  return started
}

test('slack: edits one message while the model answers when a direct message arrives, and acknowledges its envelope', async () => {
  const { app, agent, channel, toAda } = await startListeningAgent()
  await using _ = agent
  const slow = hangs('Good ', '<day> & ')
  agent.platform.next(slow.answerer)
  app.say(ADA, 'Hello &amp; <https://a.example|welcome>')
  await until('the first words', () => toAda().includes('Good &lt;day&gt; &amp;'))
  slow.release()
  await until('the whole answer', () => toAda().includes('Good &lt;day&gt; &amp; late'))
  expect(app.shown).toMatchObject([{ thread: null }])
  expect(agent.platform.asked[0]?.messages.at(-1)?.content).toBe('Hello & welcome (https://a.example)')
  await until('the confirmation', () => app.unconfirmed() === 0)
  const { connected, account, lastError } = await channel()
  expect({ connected, account, lastError }).toEqual({ connected: true, account: '@ada_bot', lastError: null })
})

test('POST /channels/:name/pairings/:code: 200 when the owner approves a stranger, who got only a code until then', async () => {
  const { app, agent, channel } = await startListeningAgent()
  await using _ = agent
  const toEve = () => app.textsIn(app.directChannelOf(EVE))
  app.say(EVE, 'Who are you?')
  await until('the code', () => toEve().length === 1)
  const { pairings } = await channel()
  expect(pairings).toMatchObject([{ id: EVE.id, name: 'eve' }])
  expect(toEve()[0]).toContain(pairings[0]?.code ?? 'no code')
  expect(agent.platform.asked).toBeEmpty()
  expect((await decidePairing(agent, 'slack', pairings[0]?.code ?? '', true)).status).toBe(200)
  app.say(EVE, 'And now?')
  await until('an answer', () => toEve().includes('You said: And now?'))
})

test('slack: answers in a channel, in the thread, only when admitted people mention the bot', async () => {
  const { app, agent, channel } = await startListeningAgent()
  await using _ = agent
  app.say(ADA, 'Just between us', CHANNEL)
  app.say(EVE, `<@${app.ownId}> let me in`, CHANNEL)
  app.say(ADA, `<@${app.ownId}> I am a bot`, CHANNEL, { bot_id: 'B1' })
  const asked = app.say(ADA, `<@${app.ownId}> ask <@${EVE.id}>`, CHANNEL)
  const shown = () => app.textsIn(CHANNEL)
  await until('an answer', () => shown().length > 0)
  expect(app.shown).toMatchObject([{ text: 'You said: Ada: ask @eve', thread: asked }])
  app.say(ADA, `<@${app.ownId}> and then?`, CHANNEL, { thread_ts: asked })
  await until('an answer in the thread', () => shown().includes('You said: Ada: and then?'))
  expect(app.shown.map(({ thread }) => thread)).toEqual([asked, asked])
  const sessions = await until('the session', async () => {
    const listed = JSON.parse(await (await agent.call('/sessions')).text()).sessions
    return listed.length > 0 && listed
  })
  expect(sessions.map(({ key }: { key: string }) => key)).toEqual([`slack:${CHANNEL}:${asked}`])
  app.say(ADA, `<@${app.ownId}> !new`, CHANNEL, { thread_ts: asked })
  await until('a new conversation', () => shown().includes('This is a new conversation.'))
  expect((await channel()).pairings).toBeEmpty()
})

test('slack: fetches files with the token from Slack only, saves them in the workspace and names them in the message', async () => {
  const { app, agent } = await startListeningAgent()
  await using _ = agent
  const elsewhere = { ...app.addFile('b.png', PICTURE), url_private_download: 'https://slack.com.evil.example/b.png' }
  const asked = agent.platform.nextAsked()
  const ts = app.say(ADA, 'Look', undefined, {
    subtype: 'file_share',
    files: [app.addFile('cat.png', PICTURE), elsewhere],
  })
  const shown = JSON.stringify((await asked).messages)
  expect(shown).toContain(PICTURE.toString('base64'))
  const name = `slack-${app.directChannelOf(ADA)}-${ts}-1-cat.png`
  expect(await readFile(join(agent.folder, 'workspace', 'inbox', name))).toEqual(PICTURE)
  expect(shown).toContain('b.png: It is kept elsewhere than at Slack')
})

test('slack: splits a long answer, retries 429 and 5xx, and continues when a message was deleted', async () => {
  const { app, agent, toAda } = await startListeningAgent()
  await using _ = agent
  const words = Array.from({ length: 1000 }, (_, index) => `w${index}`)
  agent.platform.next(says(...words.map((word) => `${word} `)))
  app.limitNext('chat.postMessage', 1)
  app.failNext('chat.postMessage', { status: 502, body: { ok: false, error: 'bad_gateway' } })
  const startedAt = performance.now()
  app.say(ADA, 'Talk')
  await until('all of it', () => toAda().join(' ').endsWith('w999'))
  expect(toAda().join(' ').split(/\s+/)).toEqual(words)
  expect(performance.now() - startedAt).toBeGreaterThan(1000)
  const slow = hangs('Half ')
  agent.platform.next(slow.answerer)
  app.say(ADA, 'two')
  await until('the first words', () => toAda().includes('Half'))
  app.refuseNext('chat.update', 'message_not_found')
  slow.release()
  app.say(ADA, 'three')
  await until('the answer to the next', () => toAda().includes('You said: three'))
}, 300_000)

test('GET /channels: 200 with the last error when a socket breaks; a repeated envelope is answered once', async () => {
  const { app, agent, channel, toAda } = await startListeningAgent()
  await using _ = agent
  for (const [index, disturb] of [
    () => app.askToDisconnect('warning'),
    () => app.askToDisconnect('refresh_requested'),
    () => app.breakConnections(),
  ].entries()) {
    disturb()
    app.say(ADA, `after ${index}`)
    await until('the answer', () => toAda().includes(`You said: after ${index}`))
    await until('one socket', () => app.connections() === 1)
    app.redeliver()
  }
  app.say(ADA, 'last')
  await until('the answer', () => toAda().includes('You said: last'))
  expect(toAda()).toHaveLength(4)
  const { connected, lastError } = await channel()
  expect([connected, lastError?.message]).toEqual([true, 'The connection to Slack broke; connecting again'])
}, 300_000)

test.each([
  ['a wrong token of the bot', { token: 'wrong' }, 'Slack refuses a token (invalid_auth): set another one'],
  [
    'a wrong token of the app',
    { appToken: BOT_TOKEN },
    'Slack refuses a token (not_allowed_token_type): set another one',
  ],
  ['an unreachable Slack', { isAway: true }, 'Slack cannot be reached; trying again'],
])(
  'GET /channels: 200 with the error when Slack reports %s',
  async (_name, options, message) => {
    const { agent, channel } = await startSlackAgent(options)
    await using _ = agent
    const error = await until('what is wrong', async () => (await channel()).lastError)
    expect(error.message).toBe(message)
  },
  300_000,
)

test('GET /channels: 200 with the error when tokens are revoked or Socket Mode is off', async () => {
  const { app, agent, channel } = await startListeningAgent()
  await using _ = agent
  app.revoke()
  const hasError = (text: string) => async () => (await channel()).lastError?.message.includes(text)
  await until('the refusal', hasError('invalid_auth'))
  expect((await channel()).connected).toBeFalse()

  const second = await startListeningAgent()
  await using __ = second.agent
  second.app.askToDisconnect('link_disabled')
  const error = await until('what is wrong', async () => (await second.channel()).lastError)
  expect(error.message).toContain('Socket Mode is switched off')
})

test('slack: answers again in the same message, then newer messages once, when it restarts during an answer', async () => {
  const { app, agent, toAda } = await startListeningAgent()
  await using _ = agent
  agent.platform.next(hangs('Half an ').answerer)
  app.say(ADA, 'long')
  await until('the first words', () => toAda().includes('Half an'))
  await agent.stop(0)
  app.say(ADA, 'meanwhile')
  await agent.restart()
  await until('the answer', () => toAda().includes('You said: meanwhile'))
  app.redeliver()
  app.say(ADA, 'last')
  await until('the answer to the last', () => toAda().includes('You said: last'))
  expect(toAda()).toEqual(['You said: long', 'You said: meanwhile', 'You said: last'])
})
