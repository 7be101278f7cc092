import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { type AgentServerSettings, serveAgent } from '../../src/agent/server.ts'
import { systemClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { callsTool, says, startPlatformDouble } from './doubles/platform.ts'
import { json, read } from './requests.ts'

const TOKEN = 'gw_test-token'

/** Starts an agent on a free port, with its own folder and platform double. */
export async function startTestAgent(settings: Partial<AgentServerSettings> = {}, platform = startPlatformDouble()) {
  const token = settings.gatewayToken ?? TOKEN
  const folder = await mkdtemp(join(tmpdir(), 'stead-agent-'))
  const start = () =>
    serveAgent(
      {
        host: '127.0.0.1',
        port: 0,
        agentId: 'agent_1',
        name: 'Ada',
        model: 'solo',
        version: '9.9.9',
        folder,
        gatewayToken: token,
        platformUrl: platform.url,
        platformToken: 'agt_platform-token',
        idleMs: 5000,
        maxTurnMs: 10_000,
        channels: { retryMs: 20, editEveryMs: 20 },
        ...settings,
      },
      { clock: systemClock, fetch, log: createLog('silent') },
    )
  let running = await start()
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${running.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })

  return {
    folder,
    platform,
    get url() {
      return running.url
    },
    token,
    call,
    /** Sends a chat completion request; fields of `more` are added to the body. */
    chat: (content: string, sessionKey?: string, more: object = {}, signal?: AbortSignal) =>
      call('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(sessionKey && { 'x-session-key': sessionKey }) },
        body: JSON.stringify({ model: 'default', messages: [{ role: 'user', content }], ...more }),
        ...(signal && { signal }),
      }),
    stop: (graceMs: number) => running.stop(graceMs),
    async restart(before?: () => Promise<unknown>) {
      await running.stop(1000)
      await before?.()
      running = await start()
    },
    /** Returns the system prompt of the latest turn. */
    prompt: () => String(platform.asked.at(-1)?.messages[0]?.content),
    /** Makes the model call one tool and returns the result that it receives. */
    async runTool(name: string, input: unknown): Promise<string> {
      platform.next(callsTool(name, input), says('done'))
      const { status } = await this.chat('go')
      if (status !== 200) throw new Error(`The turn ended with ${status}`)
      return String(platform.asked.at(-1)?.messages.find((message) => message.role === 'tool')?.content)
    },
    async [Symbol.asyncDispose]() {
      await running.stop(0)
      await platform.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Environment of an external agent, with its owner's key. It stores its own memory. */
export const OWNER_KEY = 'sk_of-its-owner'

type TestAgent = Awaited<ReturnType<typeof startTestAgent>>

const Listed = z.object({
  channels: z.array(
    z.object({
      name: z.string(),
      connected: z.boolean(),
      since: z.string().nullable(),
      account: z.string().nullable(),
      lastError: z.object({ message: z.string(), at: z.string() }).nullable(),
      people: z.array(z.object({ id: z.string(), isConfigured: z.boolean() })),
      pairings: z.array(z.object({ code: z.string(), id: z.string(), name: z.string() })),
    }),
  ),
})

/** Returns the agent's only channel, as it reports it to the platform. */
export async function channelOf(agent: TestAgent) {
  const [channel] = (await read(Listed, agent.call('/channels'))).channels
  if (!channel) throw new Error('The agent has no channel')
  return channel
}

/** Sends the owner's decision on a pairing code. */
export function decidePairing(agent: TestAgent, channel: string, code: string, approve: boolean) {
  return agent.call(`/channels/${channel}/pairings/${code}`, json('POST', { approve }))
}
