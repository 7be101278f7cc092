import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { AgentWatchdog } from '../../../src/features/agents/watchdog/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../../harness/client.ts'
import { type Receiver, startReceiver } from '../../harness/doubles/receivers.ts'
import { read } from '../../harness/requests.ts'
import { findAgentPids, openInstallation, startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const LIGHT_AGENT = [process.execPath, join(import.meta.dir, 'light-agent.ts')] as const
const SECRET = `whsec_${Buffer.from('a secret that only this test knows').toString('base64')}`

/** Returns settings with short intervals and both channels at the doubles. */
function environment(telegram: Receiver, webhook: Receiver): Record<string, string> {
  return {
    WATCHDOG_CHECK_INTERVAL: '0.3',
    WATCHDOG_DEGRADED_CHECK_INTERVAL: '0.2',
    WATCHDOG_KILL_WAIT: '0.2',
    WATCHDOG_RESTART_WAIT: '15',
    TELEGRAM_BOT_TOKEN: '123:secret-of-the-bot',
    TELEGRAM_ADMIN_CHAT_ID: '42',
    TELEGRAM_API_URL: telegram.url,
    WATCHDOG_WEBHOOK_URL: `${webhook.url}/hooks/stead`,
    WATCHDOG_WEBHOOK_SECRET: SECRET,
  }
}

const Message = z.object({ chat_id: z.string(), text: z.string() })
const Hook = z.object({
  version: z.literal(1),
  type: z.string(),
  timestamp: z.iso.datetime(),
  data: z.object({
    id: z.string(),
    severity: z.string(),
    agentId: z.string(),
    agentName: z.string(),
    attempt: z.number(),
  }),
})

function telegramMessages(receiver: Receiver): string[] {
  return receiver.taken().map((body) => /^Trigger: (.*)$/m.exec(Message.parse(JSON.parse(body)).text)?.[1] ?? '')
}

function webhookMessages(receiver: Receiver): string[] {
  return receiver.taken().map((body) => Hook.parse(JSON.parse(body)).type.replace('watchdog.', ''))
}

async function watchdogOf(person: Person, agentId: string): Promise<AgentWatchdog> {
  return read(AgentWatchdog, person.get(`/api/agents/${agentId}/watchdog`))
}

/** Waits until the watchdog is in `state`. @returns its report. */
function untilState(person: Person, agentId: string, state: string): Promise<AgentWatchdog> {
  return until(`the watchdog in ${state}`, async () => {
    const watchdog = await watchdogOf(person, agentId)
    return watchdog.state === state ? watchdog : null
  })
}

/** Waits until the history has an event of this kind. */
function untilNotified(person: Person, agentId: string, kind: string): Promise<unknown> {
  const hasEvent = async () => (await watchdogOf(person, agentId)).events.some((event) => event.kind === kind)
  return until(`the event ${kind}`, hasEvent)
}

async function pidOf(dataDir: string, agentId: string): Promise<number | undefined> {
  return (await findAgentPids(dataDir)).get(agentId)
}

test('a hanging agent becomes degraded, is repaired and runs again, with one notification each, also when receivers fail', async () => {
  await using telegram = await startReceiver()
  await using webhook = await startReceiver()
  telegram.failWith('hang', 500, 'reset')
  webhook.failWith('reset', 302, 503)
  await using server = await startServer(environment(telegram, webhook), LIGHT_AGENT)
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person, { name: 'Ada' })
  await untilState(person, agentId, 'running')
  const pid = (await pidOf(server.dataDir, agentId)) ?? 0
  process.kill(pid, 'SIGSTOP')

  await untilState(person, agentId, 'degraded')
  // The repair may end between two polls.
  await untilNotified(person, agentId, 'repaired')
  const after = await untilState(person, agentId, 'running')
  expect(after).toMatchObject({ attempts: 1, crashes: 0, lastProbe: { healthy: true }, outOfMemory: false })
  expect(after.events.map(({ kind }) => kind)).toEqual([
    'repaired',
    'repair_started',
    'degraded',
    'running',
    'starting',
  ])
  expect(after.uptime.day).toBeWithin(1, 100)
  // The receiver that does not respond has delayed nothing.
  expect(telegram.deliveries[0]?.status).toBeNull()
  expect(await pidOf(server.dataDir, agentId)).not.toBe(pid)

  const kinds = ['degraded', 'repair_started', 'repaired']
  await until('all notifications', () => telegram.taken().length >= 3 && webhook.taken().length >= 3)
  expect(telegramMessages(telegram).sort()).toEqual(kinds)
  expect(webhookMessages(webhook).sort()).toEqual(kinds)
  expect(telegram.deliveries).toHaveLength(6)
  expect(webhook.deliveries).toHaveLength(6)

  const texts = telegram.taken().map((body) => Message.parse(JSON.parse(body)))
  expect(texts.every(({ chat_id }) => chat_id === '42')).toBe(true)
  expect(texts.map(({ text }) => text)).toContain(
    `🟢 Agent repaired: Ada (${agentId})\nThe agent was repaired and answers its health check\nTrigger: repaired\nAttempt count: 1`,
  )
  expect(new Set(telegram.deliveries.map(({ path }) => path))).toEqual(
    new Set(['/bot123:secret-of-the-bot/sendMessage']),
  )
  const verifier = new Webhook(SECRET)
  for (const { path, headers, body } of webhook.deliveries) {
    expect(path).toBe('/hooks/stead')
    expect(verifier.verify(body, headers)).toMatchObject({ version: 1, data: { agentId, id: headers['webhook-id'] } })
  }
  expect(server.logLines.join('\n')).not.toContain('secret-of-the-bot')
}, 300_000)

test('the third crash is a crash loop with a critical notification, which ends with a start', async () => {
  await using telegram = await startReceiver()
  await using webhook = await startReceiver()
  await using server = await startServer(environment(telegram, webhook), LIGHT_AGENT)
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person)
  for (const crashes of [1, 2, 3]) {
    const pid = await until('the process', () => pidOf(server.dataDir, agentId))
    await until('the health', async () => (await watchdogOf(person, agentId)).state === 'running')
    process.kill(pid, 'SIGKILL')
    await until('the crash', async () => (await watchdogOf(person, agentId)).crashes === crashes)
    if (crashes < 3) await until('another process', async () => ((await pidOf(server.dataDir, agentId)) ?? pid) !== pid)
  }

  const looping = await untilState(person, agentId, 'crash_loop')
  expect(looping).toMatchObject({ exitCode: 137, attempts: 0, lastProbe: { healthy: false } })
  await until('the end of the agent', async () => (await pidOf(server.dataDir, agentId)) === undefined)
  expect(await (await person.get(`/api/agents/${agentId}`)).json()).toMatchObject({ agent: { status: 'error' } })
  const isOver = (reported: string[]) => reported.includes('crash_loop')
  await until('all notifications', () => isOver(webhookMessages(webhook)) && isOver(telegramMessages(telegram)))
  // A probe may fail before the exit of the agent is noticed.
  expect(webhookMessages(webhook).filter((kind) => kind !== 'degraded')).toEqual(['crash', 'crash', 'crash_loop'])
  const [hook = ''] = webhook.taken().slice(-1)
  expect(Hook.parse(JSON.parse(hook)).data.severity).toBe('critical')
  const [message = ''] = telegram.taken().slice(-1)
  expect(Message.parse(JSON.parse(message)).text).toContain('The agent crashed 3 times within 5 min (exit code 137)')

  expect((await person.post(`/api/agents/${agentId}/start`, {})).status).toBe(200)
  expect(await untilState(person, agentId, 'running')).toMatchObject({ crashes: 0, attempts: 0, exitCode: null })
}, 300_000)

test('a stop or restart by a user is not a crash', async () => {
  await using telegram = await startReceiver()
  await using webhook = await startReceiver()
  await using server = await startServer(environment(telegram, webhook), LIGHT_AGENT)
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person)
  await untilState(person, agentId, 'running')
  expect((await person.post(`/api/agents/${agentId}/restart`, {})).status).toBe(200)
  await untilState(person, agentId, 'running')
  expect((await person.post(`/api/agents/${agentId}/stop`, {})).status).toBe(200)
  await untilState(person, agentId, 'stopped')
  expect((await person.post(`/api/agents/${agentId}/start`, {})).status).toBe(200)
  const { events } = await untilState(person, agentId, 'running')
  expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(['starting', 'running', 'stopped']))
  expect(webhook.deliveries).toEqual([])
}, 300_000)

test('a repair is finished by the next start when the platform is killed during it', async () => {
  await using telegram = await startReceiver()
  await using webhook = await startReceiver()
  const command = LIGHT_AGENT.map((word) => `"${word}"`).join(' ')
  const settings = {
    ...environment(telegram, webhook),
    WATCHDOG_KILL_WAIT: '3',
    AGENT_ISOLATION: 'off',
    AGENT_PROCESS_COMMAND: command,
  }
  await using installation = await openInstallation({ environment: settings })
  const program = await installation.start()
  const person = await signUp(program.urls.web)
  const agentId = await createAgent(person)
  await untilState(person, agentId, 'running')
  process.kill((await installation.agentPids()).get(agentId) ?? 0, 'SIGSTOP')
  await untilState(person, agentId, 'repairing')
  await program.kill()

  const again = await signIn((await installation.start()).urls.web)
  const { events } = await untilState(again, agentId, 'running')
  expect(events.filter(({ kind }) => kind === 'crash' || kind === 'crash_loop')).toEqual([])
  const response = await again.get(`/api/agents/${agentId}`)
  expect(await response.json()).toMatchObject({ agent: { status: 'running' } })
}, 300_000)
