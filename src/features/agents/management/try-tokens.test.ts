import { expect, onTestFinished, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { startSlackDouble } from '../../../../tests/harness/doubles/slack.ts'
import { startTelegramDouble } from '../../../../tests/harness/doubles/telegram.ts'
import { INTERNAL_KEY } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { listAgents } from '../registry/agents.ts'
import { ConfigResponse } from '../registry/schemas.ts'
import { agents } from '../registry/tables.ts'

const TOKEN = '42:secret-of-the-bot'
const NOWHERE = 'http://127.0.0.1:1'

/** Simulates Discord, which knows one bot and fails for another. */
function startDiscord() {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      if (new URL(request.url).pathname !== '/api/v10/users/@me') return new Response('Not found', { status: 404 })
      const authorization = request.headers.get('authorization')
      if (authorization === 'Bot known') return Response.json({ id: '1', username: 'ada' })
      if (authorization === 'Bot unlucky') return new Response('<html>', { status: 502 })
      return Response.json({ message: '401: Unauthorized', code: 0 }, { status: 401 })
    },
  })
  onTestFinished(() => server.stop(true))
  return `http://127.0.0.1:${server.port}`
}

const BOT = 'xoxb-known'
const APP = 'xapp-known'

function startSlack() {
  const slack = startSlackDouble()
  slack.addApp(BOT, APP)
  onTestFinished(() => slack.stop())
  return slack.url
}

async function startOwner(environment: Record<string, string> = {}) {
  const telegram = startTelegramDouble()
  onTestFinished(() => telegram.stop())
  telegram.addBot(TOKEN)
  const owner = await agentOwner({
    environment: {
      TELEGRAM_API_URL: telegram.url,
      DISCORD_API_URL: startDiscord(),
      SLACK_API_URL: startSlack(),
      ...environment,
    },
  })
  const path = `/api/agents/${owner.agent.id}/config`
  const put = async (config: object) => {
    const response = await owner.asOwner(path, 'PUT', config)
    const { error } = JSON.parse(await response.clone().text())
    return [response.status, error]
  }
  const secrets = async () => (await read(ConfigResponse, owner.asOwner(path))).config.secrets
  return { ...owner, put, secrets }
}

test('PUT /api/agents/:id/config: 400 with the reason when the service refuses a token, and nothing is saved', async () => {
  const { put, secrets } = await startOwner()
  expect(await put({ telegramToken: '42:wrong', brain: 'careful' })).toEqual([
    400,
    'Telegram refuses this token: Unauthorized',
  ])
  expect(await put({ telegramToken: 'no/../token' })).toEqual([400, 'Telegram refuses this token: Not Found'])
  expect(await put({ discordBotToken: 'wrong' })).toEqual([400, 'Discord refuses this token: 401: Unauthorized'])
  expect(await secrets()).toMatchObject({ telegramToken: false, discordBotToken: false })
  expect(await put({ telegramToken: TOKEN, discordBotToken: 'known' })).toEqual([200, undefined])
  expect(await secrets()).toMatchObject({ telegramToken: true, discordBotToken: true })
})

test('PUT /api/agents/:id/config: 503 when a service is unreachable, 502 when it fails, 200 when a token is removed', async () => {
  const { put, secrets } = await startOwner({ TELEGRAM_API_URL: NOWHERE })
  expect(await put({ telegramToken: TOKEN })).toEqual([
    503,
    'Telegram cannot be reached now, so the token was not saved',
  ])
  expect(await put({ discordBotToken: 'unlucky' })).toEqual([502, 'Discord could not try this token: status 502'])
  expect(await secrets()).toMatchObject({ telegramToken: false, discordBotToken: false })
  expect(await put({ telegramToken: null })).toEqual([200, undefined])
})

test("PUT /api/agents/:id/config: 200 after checking each of Slack's tokens by its type", async () => {
  const { put, secrets } = await startOwner()
  expect(await put({ slackBotToken: 'wrong' })).toEqual([400, 'Slack refuses this token: invalid_auth'])
  expect(await put({ slackBotToken: APP })).toEqual([400, 'Slack refuses this token: not_allowed_token_type'])
  expect(await put({ slackAppToken: BOT })).toEqual([400, 'Slack refuses this token: not_allowed_token_type'])
  expect(await secrets()).toMatchObject({ slackBotToken: false, slackAppToken: false })
  expect(await put({ slackBotToken: BOT, slackAppToken: APP })).toEqual([200, undefined])
  expect(await secrets()).toMatchObject({ slackBotToken: true, slackAppToken: true })
})

test('PUT /api/agents/:id/config: 400 when no agent of this kind uses the token, and nothing is saved', async () => {
  const { put, secrets, platform, agent } = await startOwner()
  const become = (kind: 'stead' | 'openclaw') =>
    write(platform.db, (tx) => tx.update(agents).set({ kind, runtime: 'docker' }).where(eq(agents.id, agent.id)).run())
  await become('stead')
  const noWhatsapp = 'Only agents that are OpenClaw speak WhatsApp: nothing would use this token'
  expect(await put({ whatsappToken: 'canary', brain: 'careful' })).toEqual([400, noWhatsapp])
  expect(await put({ whatsappToken: null })).toEqual([200, undefined])
  await become('openclaw')
  const noSlack = 'Only agents of the built-in kind speak Slack here: nothing would use this token'
  expect(await put({ slackBotToken: BOT })).toEqual([400, noSlack])
  expect(await put({ slackAppToken: APP })).toEqual([400, noSlack])
  expect(await secrets()).toMatchObject({ whatsappToken: false, slackBotToken: false, slackAppToken: false })
  expect(await put({ whatsappToken: 'canary' })).toEqual([200, undefined])
  expect(await secrets()).toMatchObject({ whatsappToken: true })
})

test('PUT /api/agents/:id/config: 404 for a stranger, whatever the token', async () => {
  const { asStranger, agent } = await startOwner({ TELEGRAM_API_URL: NOWHERE })
  expect((await asStranger(`/api/agents/${agent.id}/config`, 'PUT', { telegramToken: TOKEN })).status).toBe(404)
})

test('POST /api/provision and POST /api/deployments: 400 when a token is refused, and no agent is created', async () => {
  const { platform, backend, user } = await startOwner()
  const before = listAgents(platform.db, { kind: 'operator' }).length
  const ask = (path: string, body: object) => backend.request(path, json('POST', body, bearer(INTERNAL_KEY)))
  const wrong = { telegramToken: '42:wrong' }
  const answers = await Promise.all([
    ask('/api/provision', { ...wrong, userId: user.id, plan: 'solo', paymentSubscriptionId: 'sub_1' }),
    ask('/api/deployments', { agentId: 'ada-1', config: wrong }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([400, 400])
  expect(listAgents(platform.db, { kind: 'operator' })).toHaveLength(before)
})
