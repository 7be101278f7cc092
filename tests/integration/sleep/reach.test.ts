import { expect, test } from 'bun:test'
import { findAgentRow, openTokens } from '../../../src/features/agents/registry/agents.ts'
import { until } from '../../harness/until.ts'
import { openAgentProxy, startAgentDouble, startSocketDouble } from '../agent-proxy/open-agent-proxy.ts'

type AgentProxy = Awaited<ReturnType<typeof openAgentProxy>>

function rowOf({ platform }: AgentProxy) {
  const row = findAgentRow(platform.db, 'ada')
  if (!row) throw new Error('The agent is gone')
  return row
}

function tokenOf(agentProxy: AgentProxy): string {
  return openTokens(agentProxy.platform.sealer, rowOf(agentProxy)).gatewayToken
}

/** Returns whether the agent is in use, regardless of the start of that use. */
function isHeld({ platform }: AgentProxy): boolean {
  return platform.activity.isUsedSince('ada', new Date(8.64e15))
}

test('a sleeping agent: 401 for a stranger without waking it, and the reason for a token holder when it cannot wake', async () => {
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', 20_001, 'sleeping')
  for (const headers of [{}, { authorization: 'Bearer gw_wrong' }]) {
    const response = await agentProxy.ask('ada', '/healthz', { headers })
    expect([response.status, await response.json()]).toEqual([401, { error: 'Unauthorized' }])
  }
  // No runtime here can wake the agent.
  const response = await agentProxy.ask('ada', '/healthz', {
    headers: { authorization: `Bearer ${tokenOf(agentProxy)}` },
  })
  expect(response.status).toBe(503)
  expect(await response.text()).toContain('The agent could not be woken')
  expect(rowOf(agentProxy).status).toBe('sleeping')
})

test('an open response keeps the agent awake until it ends, for callers with its token', async () => {
  const ending = Promise.withResolvers<void>()
  using agent = startAgentDouble(
    () =>
      new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode('first'))
            await ending.promise
            controller.close()
          },
        }),
      ),
  )
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const stranger = await agentProxy.ask('ada', '/stream')
  expect(isHeld(agentProxy)).toBe(false)
  const response = await agentProxy.ask('ada', '/stream', {
    headers: { authorization: `Bearer ${tokenOf(agentProxy)}` },
  })
  expect(isHeld(agentProxy)).toBe(true)
  ending.resolve()
  expect(await response.text()).toBe('first')
  await until('the agent to be unused', () => !isHeld(agentProxy))
  await stranger.text()
})

test('an open WebSocket keeps the agent awake until it is closed', async () => {
  using agent = startSocketDouble({})
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const socket = agentProxy.connect('ada', '/', { headers: { authorization: `Bearer ${tokenOf(agentProxy)}` } })
  await until('the WebSocket', () => socket.readyState === WebSocket.OPEN)
  expect(isHeld(agentProxy)).toBe(true)
  socket.close()
  await until('the agent to be unused', () => !isHeld(agentProxy))
})

test('an unanswered request does not keep the agent awake', async () => {
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', 1)
  const response = await agentProxy.ask('ada', '/', { headers: { authorization: `Bearer ${tokenOf(agentProxy)}` } })
  expect(response.status).toBe(502)
  expect(isHeld(agentProxy)).toBe(false)
})
