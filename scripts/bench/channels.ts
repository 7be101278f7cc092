import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { startDiscordDouble } from '../../tests/harness/doubles/discord.ts'
import { startSlackDouble } from '../../tests/harness/doubles/slack.ts'
import { startTelegramDouble } from '../../tests/harness/doubles/telegram.ts'
import { residentMegabytes, waitFor } from './child.ts'
import { median } from './median.ts'
import { type Measurement, toFigure } from './report.ts'
import { createUser, deployAgent, preparePlatform, type Stead, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const AGENTS = 5
const SETTLE_MS = 3000
/** Memory that one channel may add to an agent, in MB. */
const FLOOR_MB = 25

const RuntimeRecord = z.object({ process: z.object({ pid: z.number() }) })

/** Settings of a messenger, and the configuration that makes an agent use it; each agent has its own bot. */
type Messenger = { environment: Record<string, string>; addBot(number: number): object; stop(): unknown }

const MESSENGERS: Readonly<Record<string, () => Messenger>> = {
  Telegram() {
    const { url, addBot, stop } = startTelegramDouble()
    return {
      environment: { TELEGRAM_API_URL: url },
      addBot(number) {
        const telegramToken = `${100 + number}:secret-of-the-bot`
        addBot(telegramToken)
        return { telegramToken }
      },
      stop,
    }
  },
  Discord() {
    const { url, addBot, stop } = startDiscordDouble()
    return {
      environment: { DISCORD_API_URL: url },
      addBot(number) {
        const discordBotToken = `secret-of-the-bot-${number}`
        addBot(discordBotToken)
        return { discordBotToken }
      },
      stop,
    }
  },
  Slack() {
    const { url, addApp, stop } = startSlackDouble()
    return {
      environment: { SLACK_API_URL: url },
      addBot(number) {
        const tokens = { slackBotToken: `xoxb-secret-${number}`, slackAppToken: `xapp-secret-${number}` }
        addApp(tokens.slackBotToken, tokens.slackAppToken)
        return tokens
      },
      stop,
    }
  },
}

/** Measures the memory that each messenger adds to an agent. */
export async function measureChannels(bench: Workbench): Promise<Measurement[]> {
  const opened = Object.entries(MESSENGERS).map(([name, start]) => ({ name, ...start() }))
  for (const { stop } of opened) bench.onEnd(async () => void (await stop()))
  const environment = Object.assign({ AI_ECHO: 'true' }, ...opened.map((messenger) => messenger.environment))
  const installation = await preparePlatform(bench, environment)
  const email = await createUser(bench, installation, 'network')
  const stead = await startStead(bench, installation)
  const cookie = await signIn(stead, email)
  const alone = await measureAgents(stead, cookie, 'Alone', () => null)
  const measurements: Measurement[] = []
  for (const { name, addBot } of opened) {
    const listening = await measureAgents(stead, cookie, name, addBot)
    measurements.push(toMeasurement(name, listening, alone))
  }
  return measurements
}

async function measureAgents(
  stead: Stead,
  cookie: string,
  name: string,
  addBot: (number: number) => object | null,
): Promise<number> {
  const ids: string[] = []
  for (let number = 0; number < AGENTS; number++) {
    const { id } = await deployAgent(stead, cookie, `${name} ${number}`)
    const config = addBot(number)
    if (config) await listen(stead, cookie, id, config)
    ids.push(id)
  }
  await Bun.sleep(SETTLE_MS)
  return median(await Promise.all(ids.map(async (id) => residentMegabytes(await pidOf(stead, id)))))
}

async function listen(stead: Stead, cookie: string, id: string, config: object): Promise<void> {
  const saved = await fetch(`${stead.web}/api/agents/${id}/config`, {
    method: 'PUT',
    headers: { cookie, 'content-type': 'application/json' },
    body: JSON.stringify(config),
  })
  if (!saved.ok) throw new Error(`The token was not saved: ${await saved.text()}`)
  await waitFor('the agent to listen', async () => {
    const response = await fetch(`${stead.web}/api/agents/${id}/channels`, { headers: { cookie } })
    return response.ok && Object(await response.json()).channels[0]?.connected ? true : null
  })
}

async function pidOf({ dataDir }: Stead, id: string): Promise<number> {
  const text = await readFile(join(dataDir, 'agents', id, 'runtime.json'), 'utf8')
  return RuntimeRecord.parse(JSON.parse(text)).process.pid
}

function toMeasurement(name: string, listening: number, alone: number): Measurement {
  const added = listening - alone
  return {
    name: `memory, ${name}`,
    ours: added,
    bare: null,
    unit: 'MB',
    value: added,
    bound: 'at most',
    layer: FLOOR_MB,
    aim: null,
    notes: [`an agent that listens ${toFigure(listening)} MB, one without a messenger ${toFigure(alone)} MB`],
  }
}
