import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { createAgentGateway } from '../../../src/adapters/gateways/gateway.ts'
import { type Deployment, DeploymentList } from '../../../src/features/agents/deployments/schemas.ts'
import { SentMessage } from '../../../src/features/conversations/chat/schemas.ts'
import { Memory } from '../../../src/features/conversations/memory/schemas.ts'
import { type Person, signUp } from '../../harness/client.ts'
import { type ProviderDouble, startProvider } from '../../harness/doubles/provider.ts'
import { execIn } from '../../harness/engines/engine.ts'
import { findOpenClaw } from '../../harness/engines/openclaw.ts'
import { json, read } from '../../harness/requests.ts'
import { startServer, type TestServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const found = await findOpenClaw('2026.9.4', '2026.9.6')
const STATE = '/home/node/.openclaw'
const PATIENCE_MS = 300_000
const TOKENS = { telegramToken: '123:of-telegram', discordBotToken: 'of-discord', whatsappToken: 'of-whatsapp' }
const MODELS = ['openai/gpt-4o-mini', 'openai/gpt-4o'] as const

describe.skipIf(!found)('OpenClaw itself', () => {
  if (!found) return test('is skipped when OpenClaw is not installed', () => {})
  const { docker, dockerHost, images } = found
  const [older = '', newer = ''] = images
  const gateway = createAgentGateway({ fetch })
  let provider: ProviderDouble
  let server: TestServer
  let ada: Person
  let agentId = ''

  const containers = () => docker.listContainers({ all: true, filters: { label: [`stead.agent=${agentId}`] } })
  const findContainer = async () => (await containers())[0]?.Id ?? ''
  const run = async (script: string) => execIn(docker, await findContainer(), ['sh', '-c', script])
  const say = async (message: string) => (await read(SentMessage, ada.post('/api/chat', { agentId, message }))).reply
  const endpoint = async () => {
    const { token } = await read(z.object({ token: z.string() }), ada.get(`/api/agents/${agentId}/token`))
    const port = (await containers())[0]?.Labels['stead.port']
    return { baseUrl: `http://127.0.0.1:${port}`, gatewayToken: token, kind: 'openclaw' } as const
  }
  const sessionKey = async () => {
    const { user } = await read(z.object({ user: z.object({ id: z.string() }) }), ada.get('/api/auth/session'))
    return `user:${user.id}`
  }
  /** Runs an operation and waits for its result, which may arrive after the response. */
  const operate = async (ask: () => Promise<Response>): Promise<Deployment> => {
    const before = await newest()
    const response = await ask()
    await response.body?.cancel()
    return until(
      'the end of the operation',
      async () => {
        const last = await newest()
        return last && last.id !== before?.id && last.result ? last : null
      },
      PATIENCE_MS,
    )
  }
  const newest = async () => {
    const { deployments } = await read(DeploymentList, ada.get(`/api/agents/${agentId}/deployments`))
    return deployments.reduce<Deployment | null>((last, one) => (last && last.id > one.id ? last : one), null)
  }
  const runAction = (action: string, body: object = {}) =>
    operate(() => ada.post(`/api/agents/${agentId}/${action}`, body))

  beforeAll(async () => {
    provider = await startProvider()
    server = await startServer({
      AGENT_RUNTIME: 'docker',
      AGENT_IMAGE: older,
      DOCKER_HOST: dockerHost,
      OPENROUTER_API_KEY: 'sk-provider',
      OPENROUTER_BASE_URL: provider.baseUrl,
      WATCHDOG_CHECK_INTERVAL: '3600',
      WATCHDOG_KILL_WAIT: '0.1',
    })
    ada = await signUp(server.urls.web)
    const asked = json('POST', { name: 'Ada', model: MODELS[0] }, { ...ada.cookie, prefer: 'respond-async' })
    const provisioned = z.object({ agent: z.object({ id: z.string() }) })
    const { agent } = await read(provisioned, fetch(`${ada.web}/api/agents/provision`, asked))
    agentId = agent.id
    const first = await until(
      'the first deployment',
      async () => ((await newest())?.result ? newest() : null),
      PATIENCE_MS,
    )
    expect(first).toMatchObject({ kind: 'deploy', result: 'succeeded', reason: null })
  }, PATIENCE_MS)

  afterAll(async () => {
    const instance = (await containers())[0]?.Labels['stead.instance']
    await ada?.delete(`/api/agents/${agentId}`)
    await until('the agent is gone', async () => (await containers()).length === 0, PATIENCE_MS)
    await server?.[Symbol.asyncDispose]()
    await provider?.[Symbol.asyncDispose]()
    const networks = await docker.listNetworks({ filters: { label: [`stead.instance=${instance}`] } })
    for (const { Id } of networks) await docker.getNetwork(Id).remove()
  }, PATIENCE_MS)

  test(
    'a chat goes through the container to /v1 and back, including tools, and is stored as history',
    async () => {
      provider.answerWith(({ body }) =>
        body.messages.some(({ role }) => role === 'tool')
          ? { text: ['I wrote ', 'it down.'] }
          : { toolCalls: [{ name: 'write', arguments: { path: 'memory/likes.md', content: 'Ada likes tea.\n' } }] },
      )
      expect(await say('Remember that I like tea.')).toBe('I wrote it down.')
      expect(await run(`cat ${STATE}/workspace/memory/likes.md`)).toMatchObject({ output: 'Ada likes tea.\r\n' })
      expect(provider.chats).toHaveLength(2)
      expect(provider.chats[0]).toMatchObject({
        body: { model: MODELS[0], stream: true },
        headers: { authorization: 'Bearer sk-provider' },
      })

      const history = await gateway.history(await endpoint(), await sessionKey(), 10)
      expect(history.filter(({ content }) => content).map(({ role, content }) => [role, content])).toEqual(
        expect.arrayContaining([
          ['user', 'Remember that I like tea.'],
          ['assistant', 'I wrote it down.'],
        ]),
      )
    },
    PATIENCE_MS,
  )

  test(
    '/api/memory shows and changes the notes of OpenClaw, and its model receives them',
    async () => {
      const memory = async () => (await read(Memory, ada.get(`/api/memory?agentId=${agentId}`))).memory
      const save = (body: object) => ada.post('/api/memory', { agentId, ...body })
      expect(await memory()).toMatchObject({ 'memory/likes.md': 'Ada likes tea.\n' })
      await save({ key: 'pets', memory: 'a cat' })
      expect((await save({ key: 'MEMORY.md', memory: 'Ada plays the violin.' })).status).toBe(200)
      provider.answerWith({ text: 'Yes.' })
      expect(await say('Do you know my pets?')).toBe('Yes.')
      const reported = JSON.stringify(provider.chats.at(-1)?.body.messages)
      expect(reported).toContain('- [pets] a cat')
      expect(reported).toContain('Ada plays the violin.')
      await ada.delete(`/api/memory?agentId=${agentId}&key=MEMORY.md`)
      await ada.delete(`/api/memory?agentId=${agentId}&key=pets`)
      expect(Object.keys(await memory())).toEqual(['memory/likes.md'])
    },
    PATIENCE_MS,
  )

  test('an inspection shows no secret, and only the agent can read them', async () => {
    const { gatewayToken } = await endpoint()
    const inspected = JSON.stringify(await docker.getContainer(await findContainer()).inspect())
    expect(inspected).not.toContain(gatewayToken)
    expect(inspected).not.toContain('agt_')
    const { output } = await run(`cat ${STATE}/openclaw.json; stat -c %a:%u /run/secrets/GATEWAY_TOKEN`)
    expect(output).not.toContain(gatewayToken)
    expect(output).toMatch(/^[46]00:1000/m)
  })

  test(
    'another model and channels are added to its existing configuration',
    async () => {
      await run(`sed -i 's/"profile"/"agentToAgent": { "enabled": false }, "profile"/' ${STATE}/openclaw.json`)
      const settings = { model: MODELS[1], ...TOKENS, ownerIds: ['42'] }
      const change = () => fetch(`${ada.web}/api/agents/${agentId}/config`, json('PUT', settings, ada.cookie))
      expect(await operate(change)).toMatchObject({ result: 'succeeded', reason: null })
      const { output } = await run(`openclaw config validate --json; cat ${STATE}/openclaw.json`)
      expect(output).toContain('"valid":true')
      expect(output).toContain('"agentToAgent"')
      expect(output).toContain('"telegram": {')
      // The other two channels are plugins that the image lacks: the agent must still run and log that they are left
      // out.
      expect(output).not.toContain('"discord": {')
      const log = await docker.getContainer(await findContainer()).logs({ stderr: true })
      expect(log.toString()).toContain('channel discord is left out')
      for (const token of Object.values(TOKENS)) expect(output).not.toContain(token)

      provider.answerWith({ text: 'Better.' })
      expect(await say('And now?')).toBe('Better.')
      expect(provider.chats.at(-1)?.body.model).toBe(MODELS[1])
    },
    PATIENCE_MS,
  )

  test(
    'a memory reset ends its sessions and empties its notes, after a snapshot',
    async () => {
      const reset = await runAction('reset-memory')
      expect(reset).toMatchObject({
        result: 'succeeded',
        reason: null,
        backupPath: expect.stringMatching(/\.tar\.gz$/),
      })
      expect(await gateway.history(await endpoint(), await sessionKey(), 10)).toEqual([])
      expect(await run(`cat ${STATE}/workspace/memory/likes.md`)).toMatchObject({ exitCode: 0, output: '' })
      expect(await say('Who am I?')).toBe('Better.')
      expect(JSON.stringify(provider.chats.at(-1)?.body.messages)).not.toContain('tea')
    },
    PATIENCE_MS,
  )

  test(
    'rotating a token invalidates the old one, disconnects its clients and keeps the conversation',
    async () => {
      provider.answerWith({ text: 'Still Ada.' })
      const old = await endpoint()
      // Resetting the memory has paired the platform.
      const paired = async (at: typeof old) =>
        z
          .object({ payload: z.object({ paired: z.array(z.unknown()) }) })
          .parse(await askAdministration(at, 'device.pair.list')).payload.paired
      expect(await paired(old)).toHaveLength(1)
      expect(await say('Remember this?')).toBe('Still Ada.')
      const messages = await gateway.history(old, await sessionKey(), 10)

      for (const name of ['token', 'platform-token']) {
        const rotated = await operate(() => ada.post(`/api/agents/${agentId}/${name}/rotate`, {}))
        expect(rotated).toMatchObject({ kind: 'deploy', result: 'succeeded', reason: null })
      }
      const now = await endpoint()
      expect(now.gatewayToken).not.toBe(old.gatewayToken)
      await expect(gateway.history({ ...now, gatewayToken: old.gatewayToken }, 'main', 1)).rejects.toThrow()
      expect(await paired(now)).toEqual([])
      expect(await gateway.history(now, await sessionKey(), 10)).toMatchObject(messages)
      expect(await say('And now?')).toBe('Still Ada.')
      expect(await runAction('reset-memory')).toMatchObject({ result: 'succeeded', reason: null })
      expect(await paired(now)).toHaveLength(1)
      provider.answerWith({ text: 'Better.' })
    },
    PATIENCE_MS,
  )

  test(
    'a configuration that it refuses stops it, and a repair restores it',
    async () => {
      await run(`sed -i '1s/{/{ "nonsense": true,/' ${STATE}/openclaw.json`)
      const restarted = await runAction('restart')
      expect(restarted).toMatchObject({ result: 'failed' })
      expect(await runAction('repair')).toMatchObject({ result: 'succeeded', reason: null })
      expect((await run(`cat ${STATE}/openclaw.json`)).output).not.toContain('nonsense')
      expect(await say('Are you well?')).toBe('Better.')
    },
    PATIENCE_MS,
  )

  test(
    'an update keeps the history',
    async () => {
      provider.answerWith({ text: 'Still here.' })
      expect(await say('Before the update?')).toBe('Still here.')
      const messages = await gateway.history(await endpoint(), await sessionKey(), 10)
      const updated = await runAction('update', { image: newer })
      expect(updated).toMatchObject({ result: 'succeeded', image: newer, previousImage: older, reason: null })
      expect(await gateway.version(await endpoint())).toBe('2026.9.6')
      expect(await gateway.history(await endpoint(), await sessionKey(), 10)).toMatchObject(messages)
    },
    PATIENCE_MS,
  )

  test(
    'an update to a version that cannot read the agent’s data is rolled back automatically',
    async () => {
      const messages = await gateway.history(await endpoint(), await sessionKey(), 10)
      const back = await runAction('update', { image: older })
      expect(back).toMatchObject({ result: 'rolled-back', reason: expect.any(String), backupPath: expect.any(String) })
      expect(await gateway.version(await endpoint())).toBe('2026.9.6')
      expect(await gateway.history(await endpoint(), await sessionKey(), 10)).toMatchObject(messages)
      expect(await say('And after it?')).toBe('Still here.')
    },
    PATIENCE_MS,
  )
})

async function askAdministration({ baseUrl, gatewayToken }: { baseUrl: string; gatewayToken: string }, method: string) {
  const headers = { authorization: `Bearer ${gatewayToken}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ method, params: {} })
  return (await fetch(`${baseUrl}/api/v1/admin/rpc`, { method: 'POST', headers, body })).json()
}
