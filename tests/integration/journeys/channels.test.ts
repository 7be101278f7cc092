import { expect, onTestFinished, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentFolder } from '../../../src/adapters/runtimes/process/files.ts'
import { ChannelList } from '../../../src/features/agents/channels/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../../harness/client.ts'
import { startDiscordDouble } from '../../harness/doubles/discord.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { startSlackDouble } from '../../harness/doubles/slack.ts'
import { startTelegramDouble } from '../../harness/doubles/telegram.ts'
import { json, read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { answerLikeAModel, withProvider } from './main-job.ts'

const LIST = Buffer.from('Tea')

/** A user of a messenger, and the agent's messages to that user. */
type Messenger = {
  name: string
  /** Settings of the platform and of the agent. */
  environment: Record<string, string>
  config: Record<string, string>
  say(text: string): void
  /** Sends the file `list.txt` with the text `Tea`. */
  sendFile(): void
  texts(): string[]
  stop(): Promise<void>
}

function openTelegram(): Messenger {
  const telegram = startTelegramDouble()
  const bot = telegram.addBot('42:secret-of-the-bot')
  const ada = { id: 7, first_name: 'Ada' }
  return {
    name: 'telegram',
    environment: { TELEGRAM_API_URL: telegram.url },
    config: { telegramToken: '42:secret-of-the-bot' },
    say: (text) => bot.say(ada, { text }),
    sendFile() {
      bot.addFile('list', 'documents/list.txt', LIST)
      bot.say(ada, { document: { file_id: 'list', file_name: 'list.txt' } })
    },
    texts: () => bot.textsIn(ada.id),
    stop: telegram.stop,
  }
}

function openDiscord(): Messenger {
  const discord = startDiscordDouble()
  const bot = discord.addBot('secret-of-the-bot')
  const ada = { id: '7000000000000000007', username: 'ada' }
  return {
    name: 'discord',
    environment: { DISCORD_API_URL: discord.url },
    config: { discordBotToken: 'secret-of-the-bot' },
    say: (text) => bot.say(ada, text),
    sendFile: () => void bot.say(ada, 'Here', { more: { attachments: [bot.addFile('list.txt', LIST)] } }),
    texts: () => bot.textsIn(bot.directChannelOf(ada)),
    stop: discord.stop,
  }
}

function openSlack(): Messenger {
  const slack = startSlackDouble()
  const app = slack.addApp('xoxb-secret', 'xapp-secret')
  const ada = { id: 'U7', name: 'ada' }
  return {
    name: 'slack',
    environment: { SLACK_API_URL: slack.url },
    config: { slackBotToken: 'xoxb-secret', slackAppToken: 'xapp-secret' },
    say: (text) => void app.say(ada, text),
    sendFile() {
      app.say(ada, 'Here', undefined, { subtype: 'file_share', files: [app.addFile('list.txt', LIST)] })
    },
    texts: () => app.textsIn(app.directChannelOf(ada)),
    stop: slack.stop,
  }
}

test.each([
  ['Telegram', openTelegram],
  ['Discord', openDiscord],
  ['Slack', openSlack],
])(
  'on %s an owner saves a token, pairs herself, chats, sends a file, stops an answer, and continues after a restart and a kill',
  async (_name, openMessenger) => {
    const messenger = openMessenger()
    onTestFinished(() => messenger.stop())
    const { say, texts } = messenger
    const held = Promise.withResolvers<void>()
    await using provider = await startProvider(async (request) => {
      const { messages } = request.body
      const question = String(messages.findLast(({ role }) => role === 'user')?.content)
      if (question.includes('for ever')) return { text: ['Once ', 'upon'], fault: { hangAfterEvents: 2 } }
      if (question.includes('slowly')) await held.promise
      return answerLikeAModel(request)
    })
    await using installation = await openInstallation({
      environment: { ...withProvider(provider), ...messenger.environment },
    })
    const program = await installation.start()
    const ada = await signUp(program.urls.web)
    const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
    const saved = await fetch(`${ada.web}/api/agents/${agentId}/config`, json('PUT', messenger.config, ada.cookie))
    expect(saved.status).toBe(200)
    const channelOf = async (person: Person) => (await listChannels(person, agentId)).channels[0]
    const isConnected = () => until('the connection', async () => (await channelOf(ada))?.connected)
    await isConnected()

    say('Hello')
    await until('a code', () => texts().length > 0)
    const code = (await channelOf(ada))?.pairings[0]?.code ?? ''
    expect(texts()[0]).toContain(code)
    const path = `/api/agents/${agentId}/channels/${messenger.name}/pairings/${code}`
    expect((await ada.post(path, { approve: true })).status).toBe(200)
    say('Hello again')
    await until('an answer', () => texts().includes('You said: Hello again'))

    messenger.sendFile()
    await until('an answer to the file', () =>
      texts().some((text) => text.startsWith('You said: ') && /inbox\/\S*list\.txt/.test(text)),
    )
    const received = join(agentFolder(join(installation.dataDir, 'agents'), agentId).state, 'workspace/inbox')
    const [file = ''] = await readdir(received)
    expect(await readFile(join(received, file), 'utf8')).toBe('Tea')

    say('Tell for ever')
    await until('the beginning of the answer', () => texts().some((text) => text.startsWith('Once')))
    say('!stop')
    await until('the end of it', () => texts().includes('Stopped.'))

    await program.stop()
    const again = await installation.start()
    // The connection to the messenger passes the platform's proxy, so it ends with the platform.
    await isConnected()
    say('Still there?')
    await until('an answer after a restart', () => texts().includes('You said: Still there?'))

    say('Answer slowly')
    await until('the question to the model', () =>
      provider.chats.some(({ body }) => JSON.stringify(body).includes('slowly')),
    )
    await again.kill()
    held.resolve()
    const last = await installation.start()
    const isReported = (text: string) => text === 'You said: Answer slowly' || text.startsWith('I could not answer: ')
    await until('the answer, or why there is none', () => texts().some(isReported))
    await isConnected()
    say('And now?')
    await until('the next answer', () => texts().includes('You said: And now?'))
    expect(texts().filter(isReported)).toHaveLength(1)
    expect((await channelOf(await signIn(last.urls.web)))?.connected).toBeTrue()
  },
  600_000,
)

async function listChannels(person: Person, agentId: string) {
  return read(ChannelList, person.get(`/api/agents/${agentId}/channels`))
}
