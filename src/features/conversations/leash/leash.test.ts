import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import type { TestOptions } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { TOOL_NAMES } from '../../../core/agents/agent-tools.ts'
import { write } from '../../../db/write.ts'
import { AgentEgress } from '../../agents/egress/schemas.ts'
import { WebAgentDetail } from '../../agents/registry/schemas.ts'
import { agents } from '../../agents/registry/tables.ts'
import { OwnTools } from '../agent-tools/schemas.ts'
import { Leash } from './schemas.ts'

async function openLeash(options: TestOptions = {}) {
  const owner = await agentOwner(options)
  const path = `/api/agents/${owner.agent.id}`
  const show = () => read(Leash, owner.asOwner(`${path}/leash`))
  return {
    ...owner,
    path,
    show,
    claim: async (name: string) => (await show()).claims.find((one) => one.name === name),
    change: async (below: string, body: object) =>
      expect((await owner.asOwner(`${path}${below}`, 'PUT', body)).status).toBe(200),
  }
}

test('GET /api/agents/:id/leash: 200 with forbidden actions, which are missing from the tools of a turn', async () => {
  const { show, change, asAgent, agent } = await openLeash()
  await change('/tools', { switches: { web_search: false, delete_file: true, schedule: false } })
  const leash = await show()
  expect(leash).toMatchObject({ agentId: agent.id, complete: true, confinement: expect.any(String) })
  const { tools } = await read(OwnTools, asAgent('/v1/tools'))
  for (const name of TOOL_NAMES) {
    const mode = leash.claims.find((claim) => claim.name === name)?.mode
    // No host is allowed yet, so the tool can do nothing.
    if (name === 'http_request') expect(mode).toBe('never')
    else expect([name, mode === 'never']).toEqual([name, !tools.includes(name)])
  }
})

test('GET /api/agents/:id/leash: 200 with tools that ask before each use, which are refused without an approval', async () => {
  const { claim, change, asAgent } = await openLeash()
  await change('/tools', { switches: { http_request: true }, httpHosts: ['api.example.com'] })
  expect(await claim('delete_file')).toMatchObject({ area: 'change', mode: 'ask' })
  expect(await claim('http_request')).toEqual({
    area: 'reach',
    name: 'http_request',
    mode: 'sometimes',
    text: 'Makes HTTP requests to api.example.com; asks you before anything but GET and HEAD',
  })
  const request = (method: string, url: string) =>
    asAgent('/v1/http', 'POST', { arguments: JSON.stringify({ url, method, headers: {} }) })
  expect((await request('POST', 'https://api.example.com/')).status).toBe(403)
  expect((await request('GET', 'https://other.example.com/')).status).toBe(403)
})

test('GET /api/agents/:id/leash: 200 with the limits, messengers and MCP servers of the settings', async () => {
  const { claim, change, asOwner, path } = await openLeash()
  expect(await claim('limit:messages')).toMatchObject({ mode: 'free', text: 'No limit of messages a day' })
  await change('/limits', { messages: { limit: 7, action: 'ask' }, usd: { limit: 2, action: 'stop' } })
  expect(await claim('limit:messages')).toMatchObject({ text: 'At most 7 messages a day, then asks you' })
  expect(await claim('limit:usd')).toMatchObject({ text: 'At most $2 on models a day, then is stopped' })
  expect(await claim('channels')).toMatchObject({ mode: 'never' })
  const server = { name: 'notes', url: 'https://mcp.example.com/x', trustedTools: [], enabled: true }
  expect((await asOwner(`${path}/mcp-servers`, 'POST', server)).status).toBe(201)
  expect(await claim('mcp:notes')).toMatchObject({
    mode: 'ask',
    text: 'Uses all tools of the MCP server notes (mcp.example.com); asks you before every use',
  })
})

test('GET /api/agents/:id/leash: 200 marked incomplete when the agent is OpenClaw, and with unenforced limits marked', async () => {
  const { platform, agent, show } = await openLeash()
  await write(platform.db, (tx) => tx.update(agents).set({ kind: 'openclaw' }).where(eq(agents.id, agent.id)).run())
  const { complete, claims, limits } = await show()
  expect(complete).toBe(false)
  expect(claims.some(({ name }) => name === 'delete_file')).toBe(false)
  expect([limits.limits.usd.enforced, limits.limits.messages.enforced]).toEqual([true, false])
  expect(claims.find(({ name }) => name === 'limit:files')?.text).toContain('can be enforced for its program')
})

test('GET /api/agents/:id/leash: 200 with the isolation and the egress policy, as the agent and its policy show them', async () => {
  const { show, claim, change, asOwner, path, platform, agent } = await openLeash()
  const runIn = (runtime: 'docker' | 'process' | 'machine') =>
    write(platform.db, (tx) => tx.update(agents).set({ runtime }).where(eq(agents.id, agent.id)).run())
  expect(await claim('isolation')).toBeUndefined()
  expect(await claim('egress')).toEqual({
    area: 'reach',
    name: 'egress',
    mode: 'free',
    text: 'Connects to every public host',
  })
  for (const [runtime, mode] of [
    ['docker', 'never'],
    ['process', 'free'],
    ['machine', 'free'],
  ] as const) {
    await runIn(runtime)
    const { isolation, egress } = await show()
    const shown = await read(WebAgentDetail, asOwner(path))
    expect(isolation).toEqual(shown.agent.isolation)
    expect(egress).toEqual(await read(AgentEgress, asOwner(`${path}/egress`)))
    expect(await claim('isolation')).toMatchObject({ area: 'reach', mode })
  }
  await change('/egress', { policy: 'allow-list', allow: ['api.example.com', '*.example.org:8443'] })
  expect((await claim('egress'))?.text).toStartWith('Connects only to api.example.com, *.example.org:8443')
  await change('/egress', { policy: 'none' })
  expect((await claim('egress'))?.text).toStartWith('Connects to no host')
})

test('GET /api/agents/:id/leash: 200 with an enforced egress policy when an isolated process has no network of its own', async () => {
  const runtime = { ...createNoRuntime('process', 'Not used'), egressGap: () => 'It shares the network' }
  const { show, claim, change, asOwner, path, platform, agent } = await openLeash({ runtime })
  const isolation = { by: 'bubblewrap', reason: null, egressEnforced: true } as const
  const process = { runtime: 'process', isolation } as const
  await write(platform.db, (tx) => tx.update(agents).set(process).where(eq(agents.id, agent.id)).run())
  await change('/egress', { policy: 'none' })
  expect((await show()).egress).toEqual(await read(AgentEgress, asOwner(`${path}/egress`)))
  expect(await claim('egress')).toMatchObject({ mode: 'never', text: 'Connects to no host' })
})

test('GET /api/agents/:id/leash: 404 for a stranger and a missing agent, 401 without a session', async () => {
  const { asStranger, asOwner, path, web } = await openLeash()
  expect((await asStranger(`${path}/leash`)).status).toBe(404)
  expect((await asOwner('/api/agents/none/leash')).status).toBe(404)
  expect((await web.request(`${path}/leash`)).status).toBe(401)
})
