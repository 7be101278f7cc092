import { expect, onTestFinished, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hangs, startPlatformDouble } from '../../../../tests/harness/doubles/platform.ts'
import { startTelegramDouble } from '../../../../tests/harness/doubles/telegram.ts'
import { until } from '../../../../tests/harness/until.ts'

const MAIN = join(import.meta.dir, '../../../main.ts')
const TOKEN = '42:secret-of-the-bot'
const ADA = { id: 7, first_name: 'Ada' }

/** Starts `stead agent` with a bot as a process, repeatedly in the same folder. */
async function startKillableAgent() {
  const folder = await mkdtemp(join(tmpdir(), 'stead-agent-'))
  const telegram = startTelegramDouble()
  const platform = startPlatformDouble()
  const bot = telegram.addBot(TOKEN)
  await writeFile(join(folder, 'token'), `${TOKEN}\n`)
  const start = () =>
    Bun.spawn([process.execPath, MAIN, 'agent'], {
      cwd: folder,
      env: {
        PORT: '0',
        AGENT_DIR: folder,
        AGENT_MODEL: 'solo',
        GATEWAY_TOKEN: 'gw_1',
        PLATFORM_TOKEN: 'agt_1',
        PLATFORM_URL: platform.url,
        TELEGRAM_TOKEN_FILE: join(folder, 'token'),
        TELEGRAM_API_URL: `${telegram.url}/`,
        TELEGRAM_USER_ID: '7',
      },
      stdout: 'ignore',
      stderr: 'inherit',
    })
  let child = start()
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await child.exited
    await telegram.stop()
    await platform.stop()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    bot,
    platform,
    /** Returns the content of the agent's files. */
    async texts(pattern: string) {
      const paths = await Array.fromAsync(new Bun.Glob(pattern).scan({ cwd: folder, absolute: true }))
      return (await Promise.all(paths.map((path) => Bun.file(path).text()))).join('\n')
    },
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
    startAgain: () => {
      child = start()
    },
  }
}

test('telegram: replaces the partial answer and reports it once when the process is killed while the model answers', async () => {
  const { bot, platform, texts, kill, startAgain } = await startKillableAgent()
  platform.next(hangs('Half an ').answerer)
  const asked = bot.say(ADA, { text: 'long' })
  await until('the first words', () => bot.textsIn(ADA.id).includes('Half an'))
  // A kill before the agent records the message id leaves the partial answer in the chat.
  await until('the message id on disk', async () => (await texts('channels/*-inbox.json')).includes('"sentIds":["'))
  await kill()
  bot.redeliver(asked)
  bot.say(ADA, { text: 'next' })
  startAgain()
  await until('the answer to the next', () => bot.textsIn(ADA.id).includes('You said: next'))
  expect(bot.textsIn(ADA.id)).toEqual(['You said: long', 'You said: next'])
  expect(platform.asked).toHaveLength(3)
  await until('the report', () => platform.reported.filter(({ type }) => type === 'answer').length === 2)
  const [first] = platform.reported.filter((entry) => entry.type === 'answer')
  expect(first).toMatchObject({ text: 'You said: long', status: 'sent', restarts: 1 })
  const messages = platform.reported.flatMap((entry) => (entry.type === 'message' ? [entry.text] : []))
  expect(new Set(messages)).toEqual(new Set(['long', 'next']))
}, 300_000)

test('telegram: delivers the answer once, without the model, when the process is killed before the delivery', async () => {
  const { bot, platform, texts, kill, startAgain } = await startKillableAgent()
  for (let round = 0; round < 4; round += 1) bot.failNext('sendMessage', 429, 'Too Many Requests', { retry_after: 500 })
  const asked = bot.say(ADA, { text: 'Hello' })
  await until('the refused delivery', () => bot.calls.includes('sendMessage'))
  await until('the end of the turn on disk', async () => (await texts('turns/*.json')).includes('"answer":{'))
  await kill()
  bot.redeliver(asked)
  startAgain()
  bot.say(ADA, { text: 'next' })
  bot.clearFaults()
  await until('the answer to the next', () => bot.textsIn(ADA.id).includes('You said: next'))
  expect(bot.textsIn(ADA.id)).toEqual(['You said: Hello', 'You said: next'])
  expect(platform.asked).toHaveLength(2)
}, 300_000)

test('telegram: does not answer a redelivered message when the process was killed after the whole answer', async () => {
  const { bot, platform, texts, kill, startAgain } = await startKillableAgent()
  const asked = bot.say(ADA, { text: 'Hello' })
  await until('the answer', () => bot.textsIn(ADA.id).includes('You said: Hello'))
  await until('its confirmation', () => bot.unconfirmed() === 0)
  await until('its end on disk', async () => (await texts('channels/*-inbox.json')).includes('"waiting":[]'))
  await kill()
  bot.redeliver(asked)
  startAgain()
  bot.say(ADA, { text: 'next' })
  await until('the answer to the next', () => bot.textsIn(ADA.id).includes('You said: next'))
  expect(bot.textsIn(ADA.id)).toEqual(['You said: Hello', 'You said: next'])
  expect(platform.asked).toHaveLength(2)
}, 300_000)
