import { expect, onTestFinished, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { startTelegramDouble } from '../../../../tests/harness/doubles/telegram.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { startTestAgent } from '../../../../tests/harness/test-agent.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { openTokens } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { ChannelList } from './schemas.ts'

const TOKEN = '42:secret-of-the-bot'
const EVE = { id: 66, first_name: 'Eve' }

/** Creates Ada's agent with a bot to which the person 7 may write. */
async function startOwnedBot() {
  const owner = await agentOwner()
  const telegram = startTelegramDouble()
  const bot = telegram.addBot(TOKEN)
  const { gatewayToken } = openTokens(owner.platform.sealer, owner.agent.row)
  const channels = { telegram: { token: TOKEN, apiUrl: telegram.url, people: ['7'] }, retryMs: 20, editEveryMs: 20 }
  const running = await startTestAgent({ gatewayToken, channels })
  onTestFinished(async () => {
    await running[Symbol.asyncDispose]()
    await telegram.stop()
  })
  const set = (change: Partial<typeof agents.$inferInsert>) =>
    write(owner.platform.db, (tx) => tx.update(agents).set(change).where(eq(agents.id, owner.agent.id)).run())
  await set({ port: Number(new URL(running.url).port) })
  const path = `/api/agents/${owner.agent.id}/channels`
  const list = async () => read(ChannelList, owner.asOwner(path))
  const meet = async () => {
    bot.say(EVE, { text: 'Hi' })
    const [pairing] = await until('a code', async () => {
      const { pairings = [] } = (await list()).channels[0] ?? {}
      return pairings.length > 0 ? pairings : null
    })
    return { code: pairing?.code ?? '' }
  }
  const actions = () => owner.platform.db.select().from(auditLog).all()
  return { ...owner, bot, path, list, meet, set, actions }
}

test('POST /api/agents/:id/channels/:name/pairings/:code: 200 when the owner approves, with an audit entry', async () => {
  const { bot, path, list, meet, actions, asOwner, user, agent } = await startOwnedBot()
  const { code } = await meet()
  const response = await asOwner(`${path}/telegram/pairings/${code.toLowerCase()}`, 'POST', { approve: true })
  expect([response.status, await response.json()]).toEqual([200, { success: true }])
  bot.say(EVE, { text: 'And now?' })
  await until('an answer', () => bot.textsIn(EVE.id).includes('You said: And now?'))
  const { channels, untold } = await list()
  expect(untold).toBeNull()
  expect(channels).toMatchObject([
    { name: 'telegram', connected: true, account: '@ada_bot', pairings: [], people: [{ id: '7' }, { id: '66' }] },
  ])
  expect(actions()).toMatchObject([
    {
      actor: user.id,
      action: 'agent.channel-approve',
      target: agent.id,
      detail: { channel: 'telegram', personId: '66', name: 'Eve' },
    },
  ])
})

test('DELETE /api/agents/:id/channels/:name/people/:personId: 200, 409 for a person in the settings, 404 for an unknown one', async () => {
  const { bot, path, meet, actions, asOwner } = await startOwnedBot()
  const { code } = await meet()
  await asOwner(`${path}/telegram/pairings/${code}`, 'POST', { approve: true })
  const remove = async (id: string) => (await asOwner(`${path}/telegram/people/${id}`, 'DELETE')).status
  expect([await remove('66'), await remove('66'), await remove('7')]).toEqual([200, 404, 409])
  expect(actions().map(({ action }) => action)).toEqual(['agent.channel-approve', 'agent.channel-remove'])
  const before = bot.textsIn(EVE.id).length
  bot.say(EVE, { text: 'Still?' })
  await until('another code', () => bot.textsIn(EVE.id).length > before)
  expect(bot.textsIn(EVE.id).at(-1)).toContain('I do not know you yet')
})

test('POST /api/agents/:id/channels/:name/pairings/:code: 200 when denied, 404 for an unknown code, channel or agent', async () => {
  const { path, meet, list, actions, asOwner } = await startOwnedBot()
  const { code } = await meet()
  const decide = async (at: string, body: object = { approve: false }) => (await asOwner(at, 'POST', body)).status
  expect(await decide(`${path}/telegram/pairings/WRONGONE`)).toBe(404)
  expect(await decide(`${path}/discord/pairings/${code}`)).toBe(404)
  expect(await decide(`/api/agents/agent-missing/channels/telegram/pairings/${code}`)).toBe(404)
  expect(await decide(`${path}/telegram/pairings/${code}`, { approve: 'yes' })).toBe(400)
  expect(actions()).toBeEmpty()
  expect(await decide(`${path}/telegram/pairings/${code}`)).toBe(200)
  expect((await list()).channels[0]).toMatchObject({ pairings: [], people: [{ id: '7' }] })
  expect(actions().map(({ action }) => action)).toEqual(['agent.channel-deny'])
})

test('GET /api/agents/:id/channels: 404 for a stranger on every route; 200 unknown when the agent is stopped or OpenClaw', async () => {
  const { path, meet, list, set, asOwner, asStranger } = await startOwnedBot()
  const { code } = await meet()
  const asked = [
    asStranger(path),
    asStranger(`${path}/telegram/pairings/${code}`, 'POST', { approve: true }),
    asStranger(`${path}/telegram/people/7`, 'DELETE'),
  ]
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([404, 404, 404])
  expect((await list()).channels[0]?.pairings).toHaveLength(1)
  await set({ status: 'stopped' })
  expect(await list()).toEqual({ channels: [], untold: 'not_running' })
  const decided = await asOwner(`${path}/telegram/pairings/${code}`, 'POST', { approve: true })
  expect([decided.status, await decided.json()]).toEqual([409, expect.objectContaining({ code: 'AGENT_NOT_RUNNING' })])
  expect((await asOwner(`${path}/telegram/people/66`, 'DELETE')).status).toBe(409)
  await set({ status: 'running', kind: 'openclaw' })
  expect(await list()).toEqual({ channels: [], untold: 'openclaw' })
})
