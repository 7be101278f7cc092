import { expect, onTestFinished, test } from 'bun:test'
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { startDiscordDouble } from '../../../../tests/harness/doubles/discord.ts'
import { callsTool, says } from '../../../../tests/harness/doubles/platform.ts'
import { startSlackDouble } from '../../../../tests/harness/doubles/slack.ts'
import { startTelegramDouble } from '../../../../tests/harness/doubles/telegram.ts'
import { createEmptyEngine } from '../../../../tests/harness/engines/empty-engine.ts'
import { startOwnedAgent } from '../../../../tests/harness/owned-agent.ts'
import { until } from '../../../../tests/harness/until.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'

const TOKEN = '42:secret-of-the-bot'
const GROUP = { id: -100, type: 'supergroup' } as const

/** Ids of the owner Ada and of Eve, who is admitted, on both messengers. */
const ON_TELEGRAM = { ada: { id: 7, first_name: 'Ada' }, eve: { id: 66, first_name: 'Eve' } }
const ON_DISCORD = {
  ada: { id: '7000000000000000007', username: 'ada' },
  eve: { id: '6600000000000000066', username: 'eve' },
}

const ON_SLACK = { ada: { id: 'U7', name: 'ada' }, eve: { id: 'U66', name: 'eve' } }

type Question = { text: string; buttons: readonly object[] }

function openTelegram() {
  const telegram = startTelegramDouble()
  const bot = telegram.addBot(TOKEN)
  const { ada, eve } = ON_TELEGRAM
  const shown = () => bot.shown.filter(({ chatId }) => chatId === ada.id)
  return {
    name: 'telegram',
    bot,
    ownerId: String(ada.id),
    settings: { telegram: { token: TOKEN, apiUrl: telegram.url, people: [String(ada.id)] } },
    shown: (): Question[] => shown(),
    press(who: 'ada' | 'eve', label: string) {
      const message = shown().at(-1)
      if (message) bot.press(who === 'ada' ? ada : eve, message, label)
    },
    stop: telegram.stop,
  }
}

function openDiscord() {
  const discord = startDiscordDouble()
  const bot = discord.addBot('secret')
  const { ada, eve } = ON_DISCORD
  const shown = () => bot.shown.filter(({ channelId }) => channelId === bot.directChannelOf(ada))
  return {
    name: 'discord',
    ownerId: ada.id,
    settings: { discord: { token: 'secret', apiUrl: discord.url, people: [ada.id] } },
    shown: (): Question[] => shown(),
    press(who: 'ada' | 'eve', label: string) {
      const message = shown().at(-1)
      if (message) bot.press(who === 'ada' ? ada : eve, message, label)
    },
    stop: discord.stop,
  }
}

function openSlack() {
  const slack = startSlackDouble()
  const app = slack.addApp('xoxb-1', 'xapp-1')
  const { ada, eve } = ON_SLACK
  const shown = () => app.shown.filter(({ channel }) => channel === app.directChannelOf(ada))
  return {
    name: 'slack',
    ownerId: ada.id,
    settings: { slack: { token: 'xoxb-1', appToken: 'xapp-1', apiUrl: slack.url, people: [ada.id] } },
    shown: (): Question[] => shown(),
    press(who: 'ada' | 'eve', label: string) {
      const message = shown().at(-1)
      if (message) app.press(who === 'ada' ? ada : eve, message, label)
    },
    stop: slack.stop,
  }
}

type Messenger = ReturnType<typeof openTelegram> | ReturnType<typeof openDiscord> | ReturnType<typeof openSlack>

async function startAskingAgent<Opened extends Messenger>(openMessenger: () => Opened) {
  const messenger = openMessenger()
  onTestFinished(() => messenger.stop())
  const agent = await startOwnedAgent({}, { channels: { ...messenger.settings, retryMs: 20, editEveryMs: 20 } })
  const config = { ownerIds: [messenger.ownerId] }
  expect((await agent.asOwner(`/api/agents/${agent.agent.id}/config`, 'PUT', config)).status).toBe(200)
  const file = join(agent.running.folder, 'workspace', 'a.md')
  await writeFile(file, 'kept')
  await until('the connection', async () =>
    (await (await agent.running.call('/channels')).text()).includes('"connected":true'),
  )
  return {
    ...agent,
    messenger,
    remove: () => agent.running.runTool('delete_file', { path: 'a.md' }),
    asked: () => until('the question', () => messenger.shown().at(-1)?.buttons.length === 2),
    ends: (end: string) => until(end, () => messenger.shown().at(-1)?.text.endsWith(`\n\n${end}`)),
    isThere: () =>
      access(file).then(
        () => true,
        () => false,
      ),
    [Symbol.asyncDispose]: agent[Symbol.asyncDispose],
  }
}

/** Question about deleting `a.md` by messenger: Discord treats punctuation as markup, so it is escaped. */
const MESSENGERS: readonly (readonly [name: string, open: () => Messenger, question: string])[] = [
  ['Telegram', openTelegram, 'May I delete this file?\npath: a.md'],
  ['Discord', openDiscord, 'May I delete this file?\npath\\: a.md'],
  ['Slack', openSlack, 'May I delete this file?\npath: a.md'],
]

test.each(MESSENGERS)(
  'POST /v1/approvals/:id/decision: 200 when the owner approves by a button on %s, and the audit entry has the channel',
  async (_name, openMessenger, question) => {
    await using agent = await startAskingAgent(openMessenger)
    const { messenger } = agent
    const removal = agent.remove()
    await agent.asked()
    expect(messenger.shown().at(-1)?.text).toBe(question)
    messenger.press('eve', 'Approve')
    expect((await agent.list())[0]?.status).toBe('waiting')
    messenger.press('ada', 'Approve')
    expect(await removal).toContain('movedTo')
    await agent.ends('Approved.')
    expect(messenger.shown().at(-1)?.buttons).toBeEmpty()
    expect(await agent.isThere()).toBeFalse()
    const [log] = agent.platform.db
      .select()
      .from(auditLog)
      .all()
      .filter(({ action }) => action === 'approval.approved')
    expect(log).toMatchObject({
      actor: agent.user.id,
      target: agent.agent.id,
      detail: { via: messenger.name, personId: messenger.ownerId, tool: 'delete_file' },
    })
  },
)

test.each(MESSENGERS)(
  'POST /v1/approvals/:id/decision: on %s the owner denies, and a decision made elsewhere is shown',
  async (_name, openMessenger) => {
    await using agent = await startAskingAgent(openMessenger)
    const removal = agent.remove()
    await agent.asked()
    agent.messenger.press('ada', 'Deny')
    expect(await removal).toContain('Your owner has denied it')
    await agent.ends('Denied.')
    const second = agent.remove()
    const { id } = await agent.question()
    await agent.asked()
    await agent.decide(id, 'approve')
    expect(await second).toContain('movedTo')
    await agent.ends('Approved.')
  },
)

test.each(MESSENGERS)(
  'POST /v1/approvals: on %s a request shows every character of its arguments',
  async (name, openMessenger) => {
    await using agent = await startAskingAgent(openMessenger)
    const removal = agent.running.runTool('delete_file', { path: '||a\u202Edm.b||\u200B [c](https://eve.example)' })
    await agent.asked()
    const text = agent.messenger.shown().at(-1)?.text ?? ''
    const visible = String.raw`path: ||a\u202edm.b||\u200b [c](https://eve.example)`
    expect(name === 'Discord' ? text.replace(/\\([^0-9A-Za-z\s])/g, '$1') : text).toEndWith(visible)
    if (name === 'Discord')
      expect(text).toContain(String.raw`\|\|a\\u202edm.b\|\|\\u200b \[c\]\(https\://eve.example\)`)
    agent.messenger.press('ada', 'Deny')
    expect(await removal).toContain('Your owner has denied it')
  },
)

test.each(MESSENGERS)(
  'POST /v1/approvals: on %s a request can be denied but not approved when it exceeds one message',
  async (_name, openMessenger) => {
    await using agent = await startAskingAgent(openMessenger)
    const removal = agent.running.runTool('delete_file', { path: `${'_'.repeat(4200)}a.md` })
    await until('the question', () => agent.messenger.shown().at(-1)?.buttons.length)
    const shown = agent.messenger.shown().at(-1)
    expect(shown?.buttons).toHaveLength(1)
    expect(shown?.text).toMatch(
      /…\nThis is not all of it, and can be approved on the dashboard alone: http\S+\/approvals$/,
    )
    agent.messenger.press('ada', 'Deny')
    expect(await removal).toContain('Your owner has denied it')
  },
)

test.each(MESSENGERS)(
  'POST /v1/approvals: on %s the owner gets a link to the dashboard and no approve button when the agent runs commands',
  async (_name, openMessenger, question) => {
    await using agent = await startAskingAgent(openMessenger)
    await write(agent.platform.db, (tx) => tx.update(agents).set({ runtime: 'docker' }).run())
    const server = { name: 'notes', command: 'bun' }
    expect((await agent.asOwner(`/api/agents/${agent.agent.id}/mcp-servers`, 'POST', server)).status).toBe(201)
    const removal = agent.remove()
    const shown = await until('the question', () => agent.messenger.shown().at(-1))
    const page = `${agent.platform.conversations.appUrl}/approvals`
    expect(shown.text).toBe(`${question}\n\nThis can be approved on the dashboard alone: ${page}`)
    expect(shown.buttons).toHaveLength(1)
    agent.messenger.press('ada', 'Deny')
    expect(await removal).toContain('Your owner has denied it')
  },
)

test('a button shows the decision when the request was decided on the dashboard', async () => {
  const messenger = openTelegram()
  onTestFinished(() => messenger.stop())
  const channels = { ...messenger.settings, retryMs: 20, editEveryMs: 20 }
  await using agent = await startOwnedAgent({}, { channels, approvalWaitMs: 300 })
  await agent.asOwner(`/api/agents/${agent.agent.id}/config`, 'PUT', { ownerIds: ['7'] })
  expect(await agent.running.runTool('delete_file', { path: 'a.md' })).toContain('has not answered yet')
  await until('the question', () => messenger.shown().at(-1)?.buttons.length === 2)
  await agent.decide((await agent.question()).id, 'deny')
  messenger.press('ada', 'Approve')
  await until('the end', () => messenger.shown().at(-1)?.text.endsWith('Already decided: Denied.'))
  expect((await agent.list())[0]?.status).toBe('denied')
})

test('POST /v1/approvals/:id/decision: 403 for others than the owner, payments and OpenClaw, 404 when missing, 409 when decided', async () => {
  await using agent = await startAskingAgent(openTelegram)
  const ask = async (tool: string) => {
    const asked = await agent.asAgent('/v1/approvals', 'POST', { tool, arguments: '{}' })
    return String(JSON.parse(await asked.text()).id)
  }
  const decide = async (id: string, personId = '7', decision = 'approve') => {
    const body = { decision, channel: 'telegram', personId }
    const response = await agent.asAgent(`/v1/approvals/${id}/decision`, 'POST', body)
    return [response.status, JSON.parse(await response.text()).code]
  }
  const id = await ask('delete_file')
  expect(await decide(id, '66')).toEqual([403, 'NOT_OWNER'])
  await agent.asOwner(`/api/agents/${agent.agent.id}/tools`, 'PUT', { switches: { paid_request: true } })
  expect(await decide(await ask('paid_request'))).toEqual([403, 'DASHBOARD_ONLY'])
  expect((await decide('apr_missing'))[0]).toBe(404)
  expect((await decide(id, '7', 'maybe'))[0]).toBe(400)
  expect((await decide(id))[0]).toBe(200)
  expect(await decide(id)).toEqual([409, 'NOT_WAITING'])
  const third = await ask('move_file')
  await write(agent.platform.db, (tx) =>
    tx.update(agents).set({ kind: 'openclaw' }).where(eq(agents.id, agent.agent.id)).run(),
  )
  expect(await decide(third)).toEqual([403, 'NOT_OWNER'])
})

test('POST /v1/approvals/:id/decision: 403 DASHBOARD_ONLY when an agent runs commands and the request is approved, not when it is denied', async () => {
  await using agent = await startOwnedAgent({ runtime: createEmptyEngine() }, { runtime: 'docker', isConfined: true })
  const path = `/api/agents/${agent.agent.id}`
  const ask = async (tool: string) => {
    const asked = await agent.asAgent('/v1/approvals', 'POST', { tool, arguments: '{}' })
    return String(JSON.parse(await asked.text()).id)
  }
  const decide = async (id: string, decision: string) => {
    const body = { decision, channel: 'telegram', personId: '7' }
    const response = await agent.asAgent(`/v1/approvals/${id}/decision`, 'POST', body)
    return [response.status, JSON.parse(await response.text()).code]
  }
  const dashboardOnly = [403, 'DASHBOARD_ONLY']
  await agent.asOwner(`${path}/config`, 'PUT', { ownerIds: ['7'] })
  const added = await agent.asOwner(`${path}/mcp-servers`, 'POST', { name: 'notes', command: 'bun' })
  const { server } = JSON.parse(await added.text())
  expect(await decide(await ask('delete_file'), 'approve')).toEqual(dashboardOnly)
  expect((await decide(await ask('delete_file'), 'deny'))[0]).toBe(200)
  expect((await agent.asOwner(`${path}/mcp-servers/${server.id}`, 'DELETE')).status).toBe(200)
  // The token that the server may have read stays valid until the agent has its new one.
  expect(await decide(await ask('delete_file'), 'approve')).toEqual(dashboardOnly)
  await write(agent.platform.db, (tx) => restoreToken(tx, agent.agent.row))
  expect((await decide(await ask('delete_file'), 'approve'))[0]).toBe(200)
  await agent.asOwner(`${path}/tools`, 'PUT', { switches: { run_shell: true } })
  expect(await decide(await ask('move_file'), 'approve')).toEqual(dashboardOnly)
  const running = agent.running.runTool('run_shell', { command: 'true' })
  const { id } = await until('the command', async () => (await agent.list()).find(({ tool }) => tool === 'run_shell'))
  await agent.decide(id, 'approve')
  expect(await running).toContain('exitCode')
  await agent.asOwner(`${path}/tools`, 'PUT', { switches: { run_shell: false } })
  expect(await decide(await ask('move_file'), 'approve')).toEqual(dashboardOnly)
})

/** Simulates a restart of the agent with another token. */
function restoreToken(tx: Tx, { id, accessTokenHash, accessToken }: AgentRow): void {
  const known = { accessTokenHash, accessToken, retiringTokenHash: null }
  tx.update(agents).set(known).where(eq(agents.id, id)).run()
}

test('send_message sends to known people and groups without approval, and waits for one when the recipient is new', async () => {
  const telegram = startTelegramDouble()
  onTestFinished(() => telegram.stop())
  const bot = telegram.addBot(TOKEN)
  const { ada, eve } = ON_TELEGRAM
  const settings = { telegram: { token: TOKEN, apiUrl: telegram.url, people: ['7'] }, retryMs: 20, editEveryMs: 20 }
  await using agent = await startOwnedAgent({}, { channels: settings })
  bot.say(ada, { text: '@ada_bot hi', entities: [{ type: 'mention', offset: 0, length: 8 }] }, GROUP)
  await until('an answer', () => bot.textsIn(GROUP.id).length === 1)
  const send = (to: string, text: string) => agent.running.runTool('send_message', { action: 'send', to, text })
  const { recipients } = JSON.parse(await agent.running.runTool('send_message', { action: 'list' }))
  expect(recipients).toEqual([
    { to: 'telegram:7', name: null, isGroup: false },
    { to: 'telegram:-100', name: null, isGroup: true },
  ])
  expect(await send('telegram:7', 'To Ada')).toBe('{"sent":true}')
  expect(await send('telegram:-100', 'To all')).toBe('{"sent":true}')
  expect(bot.textsIn(ada.id)).toEqual(['To Ada'])
  expect(bot.textsIn(GROUP.id)).toContain('To all')
  const toEve = send(`telegram:${eve.id}`, 'To Eve')
  const question = await agent.question()
  expect(question).toMatchObject({ tool: 'send_message' })
  expect(bot.textsIn(eve.id)).toBeEmpty()
  await agent.decide(question.id, 'approve')
  expect(await toEve).toBe('{"sent":true}')
  expect(bot.textsIn(eve.id)).toEqual(['To Eve'])
  bot.failNext('sendMessage', 403, 'Forbidden: bot was blocked by the user')
  expect(await send('telegram:7', 'again')).toContain('The message was not delivered')
})

test('telegram: answers other messages of the same chat while a request waits', async () => {
  await using agent = await startAskingAgent(openTelegram)
  const { bot } = agent.messenger
  agent.model.next(callsTool('delete_file', { path: 'a.md' }))
  bot.say(ON_TELEGRAM.ada, { text: 'Delete a.md' })
  await agent.asked()
  agent.model.next(says('It is noon'))
  bot.say(ON_TELEGRAM.ada, { text: 'What time is it?' })
  await until('the second answer', () => bot.textsIn(7).includes('It is noon'))
  expect(agent.model.asked.at(-1)?.messages[0]?.content).toContain('waits for your owner’s approval of delete_file')
  expect((await agent.list())[0]?.status).toBe('waiting')
  agent.model.next(says('Deleted it'))
  await agent.decide((await agent.question()).id, 'approve')
  await until('the first answer', () => bot.textsIn(7).includes('Deleted it'))
  expect(await agent.isThere()).toBeFalse()
})

test('send_message returns an error at once and requests no approval when the recipient is unreachable', async () => {
  await using agent = await startAskingAgent(openTelegram)
  const send = (to: string) => agent.running.runTool('send_message', { action: 'send', to, text: 'Hi' })
  expect(await send('signal:1')).toContain('There is no channel for "signal:1". Channels of this agent: telegram')
  expect(await send('Ada')).toContain('There is no channel for "Ada"')
  agent.messenger.bot.failNext('getChat', 400, 'Bad Request: chat not found')
  expect(await send('telegram:99')).toContain('There is no recipient telegram:99')
  expect(await agent.list()).toEqual([])
})
