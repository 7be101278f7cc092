import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { startMcpServer } from '../../../../tests/harness/doubles/mcp-server.ts'
import { createEmptyEngine } from '../../../../tests/harness/engines/empty-engine.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { deploymentHistory } from '../../agents/operations/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import { ApprovalList } from '../approvals/schemas.ts'
import { agentMcpServers } from './tables.ts'

async function open(
  environment: Record<string, string> = { SUMMARIZER_ALLOW_PRIVATE: 'true' },
  runtime: Runtime = createEmptyEngine(),
) {
  const owner = await agentOwner({ environment, runtime })
  const { asOwner, asAgent, agent } = owner
  const path = `/api/agents/${agent.id}/mcp-servers`
  const answerOf = async (response: Promise<Response>) => {
    const { status } = await response
    return { status, body: Object(await (await response).json()) }
  }
  return {
    ...owner,
    path,
    answerOf,
    add: (server: object) => answerOf(asOwner(path, 'POST', { name: 'weather', ...server })),
    tools: () => answerOf(asAgent('/v1/mcp/tools')),
    call: (tool: string, input: unknown, approvalId?: string) =>
      answerOf(
        asAgent('/v1/mcp/call', 'POST', { server: 'weather', tool, arguments: JSON.stringify(input), approvalId }),
      ),
    approve: async (tool: string, input: unknown) => {
      const asked = await answerOf(asAgent('/v1/approvals', 'POST', { tool, arguments: JSON.stringify(input) }))
      await asOwner(`/api/approvals/${asked.body.id}/approve`, 'POST')
      return String(asked.body.id)
    },
  }
}
const PARIS = { city: 'Paris' }

test('GET /api/agents/:id/mcp-servers/:serverId/tools: 200 with the stored bearer, which is encrypted; only names of headers are returned', async () => {
  await using server = startMcpServer()
  const { add, path, asOwner, answerOf, platform } = await open()
  const added = await add({ url: server.url, bearer: 'very-secret', headers: { 'X-Team': 'also-secret' } })
  expect([added.status, added.body.server.headerNames]).toEqual([201, ['x-team', 'authorization']])
  const rows = platform.db.select().from(agentMcpServers).all()
  const listed = await answerOf(asOwner(path))
  expect(JSON.stringify([added.body, listed.body, rows])).not.toContain('secret')
  const tools = await answerOf(asOwner(`${path}/${added.body.server.id}/tools`))
  expect(tools.body.tools).toMatchObject([
    { name: 'forecast', description: 'Tells the weather', isAllowed: true, isReadOnly: true, isTrusted: true },
    { name: 'erase' },
  ])
  expect(new Set(server.shown)).toEqual(new Set(['Bearer very-secret']))
})

test('GET /api/agents/:id/mcp-servers/:serverId/tools: 200 when the server takes longer than the idle timeout', async () => {
  await using server = startMcpServer()
  const { add, path, app, cookie } = await open()
  const { body } = await add({ url: server.url })
  const kept: number[] = []
  const request = new Request(`http://localhost:3000${path}/${body.server.id}/tools`, { headers: cookie })
  const keepOpen = (_request: Request, stalledSeconds = 0) => void kept.push(stalledSeconds)
  const response = await app.fetch(request, { api: 'web', address: '203.0.113.7', keepOpen })
  expect([response.status, kept]).toEqual([200, [0]])
})

test('PATCH /api/agents/:id/mcp-servers/:serverId: 200 removes the headers when the origin changes', async () => {
  await using server = startMcpServer()
  const { add, path, asOwner, answerOf } = await open()
  const { body } = await add({ url: 'https://first.example/mcp', bearer: 'very-secret' })
  const moved = await answerOf(asOwner(`${path}/${body.server.id}`, 'PATCH', { url: server.url }))
  expect(moved.body.server.headerNames).toEqual([])
  await asOwner(`${path}/${body.server.id}/tools`)
  expect(new Set(server.shown)).toEqual(new Set([null]))
})

test('POST /v1/mcp/call: 200 at once when the tool is trusted, else once per approval of exactly that call; the owner can try any tool', async () => {
  await using server = startMcpServer()
  const { add, path, asOwner, answerOf, tools, call, approve } = await open()
  const { body } = await add({ url: server.url, trustedTools: ['forecast'] })
  const tried = await answerOf(asOwner(`${path}/${body.server.id}/try`, 'POST', { tool: 'forecast', arguments: PARIS }))
  expect(tried).toEqual({ status: 200, body: { text: 'It is sunny', isError: false } })
  expect((await tools()).body).toMatchObject({
    tools: [
      { server: 'weather', name: 'forecast', needsApproval: false },
      { server: 'weather', name: 'erase', needsApproval: true },
    ],
    failed: [],
  })
  expect((await call('forecast', PARIS)).body).toEqual({ text: 'It is sunny', isError: false })
  expect(await call('erase', PARIS)).toMatchObject({ status: 403, body: { code: 'NOT_APPROVED' } })
  const id = await approve('weather/erase', PARIS)
  expect((await call('erase', { city: 'Rome' }, id)).status).toBe(409)
  expect((await call('erase', PARIS, id)).status).toBe(200)
  expect((await call('erase', PARIS, id)).status).toBe(409)
  expect(server.calls.filter(({ tool }) => tool === 'erase')).toEqual([{ tool: 'erase', input: PARIS }])
})

test('POST /v1/mcp/call: 200 without approval when the server marks the tool read-only, 403 when the owner trusts none', async () => {
  await using server = startMcpServer()
  const { add, path, asOwner, tools, call } = await open()
  const { body } = await add({ url: server.url })
  expect(body.server.trustedTools).toBeNull()
  const needs = async () =>
    (await tools()).body.tools.map((tool: { name: string; needsApproval: boolean }) => [tool.name, tool.needsApproval])
  expect(await needs()).toEqual([
    ['forecast', false],
    ['erase', true],
  ])
  expect((await call('forecast', PARIS)).body).toEqual({ text: 'It is sunny', isError: false })
  expect(await call('erase', PARIS)).toMatchObject({ status: 403, body: { code: 'NOT_APPROVED' } })
  expect(await call('unknown', PARIS)).toMatchObject({ status: 403, body: { code: 'NOT_APPROVED' } })
  await asOwner(`${path}/${body.server.id}`, 'PATCH', { trustedTools: [] })
  expect(await needs()).toEqual([
    ['forecast', true],
    ['erase', true],
  ])
  expect(await call('forecast', PARIS)).toMatchObject({ status: 403, body: { code: 'NOT_APPROVED' } })
})

test('POST /v1/mcp/call: 200 with the arguments that were shown when a key is repeated', async () => {
  await using server = startMcpServer()
  const { add, asAgent, asOwner } = await open()
  await add({ url: server.url })
  const twice = `{"city":"Paris","note":${JSON.stringify('x'.repeat(10_000))},"city":"Rome"}`
  const asked = await asAgent('/v1/approvals', 'POST', { tool: 'weather/erase', arguments: twice })
  const { id } = z.object({ id: z.string() }).parse(await asked.json())
  const [shown] = (await read(ApprovalList, asOwner('/api/approvals'))).approvals
  expect(shown?.arguments).not.toContain('Paris')
  await asOwner(`/api/approvals/${id}/approve`, 'POST')
  const call = { server: 'weather', tool: 'erase', arguments: twice, approvalId: id }
  expect((await asAgent('/v1/mcp/call', 'POST', call)).status).toBe(200)
  expect(server.calls).toMatchObject([{ tool: 'erase', input: { city: 'Rome' } }])
})

test('GET /v1/mcp/tools: 200 without filtered tools and disabled servers', async () => {
  await using server = startMcpServer()
  const { add, path, asOwner, tools, call } = await open()
  const { body } = await add({ url: server.url, allowedTools: ['forecast'], trustedTools: ['forecast', 'erase'] })
  expect((await tools()).body.tools.map(({ name }: { name: string }) => name)).toEqual(['forecast'])
  expect((await call('erase', PARIS)).status).toBe(404)
  await asOwner(`${path}/${body.server.id}`, 'PATCH', { enabled: false })
  expect((await tools()).body.tools).toEqual([])
  expect((await call('forecast', PARIS)).status).toBe(404)
  expect(server.calls).toEqual([])
})

test('PATCH and DELETE /api/agents/:id/mcp-servers/:serverId: 200 denies pending approvals of removed tools', async () => {
  const { add, path, asOwner, asAgent, answerOf } = await open()
  const { id } = (await add({ url: 'http://127.0.0.1:1' })).body.server
  const ask = async (tool: string) =>
    String((await answerOf(asAgent('/v1/approvals', 'POST', { tool, arguments: '{}' }))).body.id)
  const asked = [await ask('weather/erase'), await ask('weather/forecast'), await ask('other/erase')]
  const statuses = () =>
    Promise.all(asked.map(async (each) => (await answerOf(asAgent(`/v1/approvals/${each}`))).body.status))
  await asOwner(`${path}/${id}`, 'PATCH', { allowedTools: ['forecast'] })
  expect(await statuses()).toEqual(['denied', 'waiting', 'waiting'])
  await asOwner(`${path}/${id}`, 'PATCH', { enabled: false })
  expect(await statuses()).toEqual(['denied', 'denied', 'waiting'])
  await asOwner(`${path}/${id}`, 'PATCH', { enabled: true, allowedTools: null })
  asked.push(await ask('weather/erase'))
  await asOwner(`${path}/${id}`, 'DELETE')
  expect(await statuses()).toEqual(['denied', 'denied', 'waiting', 'denied'])
})

test('GET /v1/mcp/tools: 200 with the other servers when one hangs, is invalid or is missing', async () => {
  await using good = startMcpServer()
  const liar = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => Response.json({ jsonrpc: '2.0', id: 9, result: 7 }),
  })
  const silent = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Promise<Response>(() => undefined) })
  try {
    const { add, tools } = await open()
    await add({ url: good.url })
    await add({ name: 'liar', url: `http://127.0.0.1:${liar.port}/` })
    await add({ name: 'silent', url: `http://127.0.0.1:${silent.port}/` })
    await add({ name: 'gone', url: 'http://127.0.0.1:1/' })
    const { status, body } = await tools()
    expect([status, body.tools.length]).toEqual([200, 2])
    expect(body.failed.map(({ server }: { server: string }) => server)).toEqual(['gone', 'liar', 'silent'])
    const startedAt = performance.now()
    await tools()
    // Asking the hanging server again takes three seconds.
    expect(performance.now() - startedAt).toBeLessThan(2900)
  } finally {
    await Promise.all([liar.stop(true), silent.stop(true)])
  }
})

test('GET /api/agents/:id/mcp-servers/:serverId/tools: 502 when the address is private, unless the operator allows it', async () => {
  await using server = startMcpServer()
  const { add, path, asOwner, answerOf } = await open({ SUMMARIZER_ALLOW_PRIVATE: 'false' })
  const { body } = await add({ url: server.url })
  expect((await answerOf(asOwner(`${path}/${body.server.id}/tools`))).status).toBe(502)
  expect(server.shown).toEqual([])
})

test('GET /api/agents/:id/mcp-servers/:serverId/tools: 502 when the server redirects to another host', async () => {
  await using server = startMcpServer()
  const away = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.redirect(server.url, 307) })
  try {
    const { add, path, asOwner, answerOf } = await open()
    const { body } = await add({ url: `http://127.0.0.1:${away.port}/`, bearer: 'very-secret' })
    expect((await answerOf(asOwner(`${path}/${body.server.id}/tools`))).status).toBe(502)
    expect(server.shown).toEqual([])
  } finally {
    await away.stop(true)
  }
})

test('POST /api/agents/:id/mcp-servers: 400 when the server is invalid, 409 when the name is used, 429 at ten', async () => {
  const { add } = await open()
  const url = 'https://mcp.example/'
  for (const bad of [{}, { url: 'file:///x' }, { url, name: 'A B' }, { url, headers: { 'a b': 'x' } }])
    expect((await add(bad)).status).toBe(400)
  expect((await add({ url })).status).toBe(201)
  expect((await add({ url })).status).toBe(409)
  for (let number = 1; number < 10; number++) await add({ url, name: `s${number}` })
  expect((await add({ url, name: 'eleventh' })).status).toBe(429)
})

test('/api/agents/:id/mcp-servers: 404 for another owner and when the server was removed', async () => {
  const { add, path, asStranger, asOwner, strangersAgent, answerOf } = await open()
  const { body } = await add({ url: 'https://mcp.example/' })
  const one = `${path}/${body.server.id}`
  expect((await asStranger(path)).status).toBe(404)
  expect((await asStranger(path, 'POST', { name: 'x', url: 'https://mcp.example/' })).status).toBe(404)
  expect((await asStranger(one, 'PATCH', { enabled: false })).status).toBe(404)
  expect((await asStranger(one, 'DELETE')).status).toBe(404)
  expect((await asStranger(`${one}/tools`)).status).toBe(404)
  expect((await asStranger(`${one}/try`, 'POST', { tool: 'x' })).status).toBe(404)
  // Another agent of the same owner does not have the server either.
  const under = `/api/agents/${strangersAgent.id}/mcp-servers/${body.server.id}`
  expect((await asStranger(under, 'DELETE')).status).toBe(404)
  expect((await asOwner(one, 'DELETE')).status).toBe(200)
  expect((await answerOf(asOwner(path))).body).toEqual({ servers: [] })
  expect((await asOwner(one, 'DELETE')).status).toBe(404)
})

test('POST /api/agents/:id/mcp-servers: 400 for a command without confinement, and with fields of a URL', async () => {
  const { add, path, asOwner, answerOf, platform } = await open()
  const runIn = (runtime: 'process' | 'docker') => write(platform.db, (tx) => tx.update(agents).set({ runtime }).run())
  await runIn('process')
  const refused = await add({ command: 'npx', args: ['-y', 'server'] })
  expect([refused.status, refused.body.code]).toEqual([400, 'NOT_CONFINED'])
  expect(refused.body.error).toContain('it is not isolated')
  await runIn('docker')
  for (const bad of [
    { command: 'npx', url: 'https://mcp.example/' },
    { command: 'npx', bearer: 'x' },
    { url: 'https://mcp.example/', environment: { A: 'b' } },
    { command: 'a\0b' },
    { command: 'npx', environment: { 'a b': 'x' } },
  ])
    expect((await add(bad)).status).toBe(400)
  const { body } = await add({ command: 'npx', args: ['-y', 'server'], environment: { KEY: 'very-secret' } })
  const one = `${path}/${body.server.id}`
  const change = (what: object) => answerOf(asOwner(one, 'PATCH', what))
  expect((await change({ url: 'https://mcp.example/' })).status).toBe(400)
  expect((await change({ trustedTools: ['x'] })).body.server.environmentNames).toEqual(['KEY'])
  expect((await change({ args: ['-y', 'another'] })).body.server.environmentNames).toEqual([])
  expect(JSON.stringify(platform.db.select().from(agentMcpServers).all())).not.toContain('very-secret')
})

test('DELETE and PATCH /api/agents/:id/mcp-servers/:serverId: 200 rotates the agent’s token when a program is replaced', async () => {
  const { add, path, asOwner, asAgent, answerOf, platform, agent, user } = await open()
  await write(platform.db, (tx) => tx.update(agents).set({ runtime: 'docker' }).run())
  const rotations = () =>
    platform.db
      .select()
      .from(auditLog)
      .all()
      .filter(({ action }) => action === 'agent.rotate-platform-token')
  const hash = () => platform.db.select().from(agents).where(eq(agents.id, agent.id)).get()?.accessTokenHash
  const first = await add({ command: 'npx', args: ['server'] })
  const second = await add({ name: 'notes', url: 'https://mcp.example/' })
  await asOwner(`${path}/${first.body.server.id}`, 'PATCH', { trustedTools: ['x'], command: 'npx', args: ['server'] })
  await asOwner(`${path}/${second.body.server.id}`, 'DELETE')
  expect([rotations(), hash()]).toEqual([[], agent.row.accessTokenHash])

  await asOwner(`${path}/${first.body.server.id}`, 'PATCH', { args: ['another'] })
  const afterChange = hash()
  expect(afterChange).not.toBe(agent.row.accessTokenHash)
  expect((await answerOf(asOwner(`${path}/${first.body.server.id}`, 'DELETE'))).status).toBe(200)
  expect(hash()).not.toBe(afterChange)
  expect((await asAgent('/v1/mcp/commands')).status).toBe(401)
  const one = { actor: user.id, target: agent.id, detail: { mcpServer: 'weather' } }
  expect(rotations()).toMatchObject([one, one])
  const isDeploy = { agentId: agent.id, kind: 'deploy', requestedBy: user.id }
  // The first restart is queued when the second is requested, and uses the token of that time.
  expect(platform.db.select().from(deploymentHistory).all()).toMatchObject([isDeploy])
})

test('DELETE and PATCH /api/agents/:id/mcp-servers/:serverId: 500 without changes when the container engine does not respond', async () => {
  const { add, path, asOwner, answerOf, platform } = await open({}, createNoRuntime('docker', 'No engine answers'))
  await write(platform.db, (tx) => tx.update(agents).set({ runtime: 'docker' }).run())
  const { body } = await add({ command: 'npx' })
  const one = `${path}/${body.server.id}`
  const before = dumpTables(platform.db)
  const refused = { status: 500, body: { error: 'No engine answers' } }
  expect(await answerOf(asOwner(one, 'DELETE'))).toEqual(refused)
  expect(await answerOf(asOwner(one, 'PATCH', { command: 'bun' }))).toEqual(refused)
  expect(dumpTables(platform.db)).toBe(before)
})

test('GET /v1/mcp/commands: 200 with the environment; empty without confinement', async () => {
  const { add, asAgent, answerOf, platform, tools } = await open()
  const runIn = (runtime: 'process' | 'swarm') => write(platform.db, (tx) => tx.update(agents).set({ runtime }).run())
  await runIn('swarm')
  await add({ command: 'npx', args: ['server'], environment: { KEY: 'value' } })
  const commands = () => answerOf(asAgent('/v1/mcp/commands'))
  expect((await commands()).body).toMatchObject({
    servers: [{ name: 'weather', command: 'npx', args: ['server'], environment: { KEY: 'value' }, enabled: true }],
  })
  expect((await tools()).body).toEqual({ tools: [], failed: [] })
  await runIn('process')
  expect((await commands()).body).toEqual({ servers: [] })
  const wrong = await asAgent('/v1/mcp/commands', 'GET', undefined, { authorization: 'Bearer agt_wrong' })
  expect(wrong.status).toBe(401)
})

test('PUT /v1/mcp/commands/:name/pins: 200 adds tools of the first listing only, 404 for other servers, 400, 401', async () => {
  const { add, asAgent, answerOf, platform } = await open()
  await write(platform.db, (tx) => tx.update(agents).set({ runtime: 'swarm' }).run())
  await add({ command: 'npx' })
  await add({ name: 'remote', url: 'https://mcp.example/' })
  const [first, second] = ['1'.repeat(64), '2'.repeat(64)]
  const pin = (name: string, toolPins: object) =>
    answerOf(asAgent(`/v1/mcp/commands/${name}/pins`, 'PUT', { toolPins }))
  expect(await pin('weather', { forecast: first })).toEqual({ status: 200, body: { toolPins: { forecast: first } } })
  // A later listing does not replace the accepted description.
  expect((await pin('weather', { forecast: second, report: second })).body).toEqual({
    toolPins: { forecast: first, report: second },
  })
  expect((await pin('remote', { forecast: first })).status).toBe(404)
  expect((await pin('none', { forecast: first })).status).toBe(404)
  expect((await pin('weather', {})).status).toBe(400)
  expect((await pin('weather', { forecast: 'x' })).status).toBe(400)
  const wrong = { authorization: 'Bearer agt_wrong' }
  expect((await asAgent('/v1/mcp/commands/weather/pins', 'PUT', { toolPins: { a: first } }, wrong)).status).toBe(401)
})
