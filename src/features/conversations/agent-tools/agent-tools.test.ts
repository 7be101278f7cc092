import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { ToolSettings } from '../../../core/agents/agent-tools.ts'
import { write } from '../../../db/write.ts'
import { NoticeList } from '../../accounts/notifications/schemas.ts'
import { agents } from '../../agents/registry/tables.ts'
import { AgentTools } from './schemas.ts'

const Asked = z.object({ id: z.string(), status: z.string() })

async function openTestInstallation() {
  const owner = await agentOwner()
  const { asOwner, asAgent, agent } = owner
  const path = `/api/agents/${agent.id}/tools`
  return {
    ...owner,
    path,
    change: (body: object) => asOwner(path, 'PUT', body),
    seen: () => read(AgentTools, asOwner(path)),
    settings: (headers = agent.headers) => read(ToolSettings, asAgent('/v1/tools', 'GET', undefined, headers)),
  }
}

test('GET /v1/tools: 200 with the plan’s profile until the owner selects another', async () => {
  const { settings, seen, change, add, user } = await openTestInstallation()
  expect((await settings()).tools).toContain('delete_file')
  const solo = await add(user.id, 'Solo', 'solo')
  const { tools } = await settings(solo.headers)
  expect(tools).toContain('write_file')
  expect(tools).not.toContain('delete_file')
  expect(await seen()).toMatchObject({ profile: 'coding', isChosen: false })
  expect((await change({ profile: 'minimal' })).status).toBe(200)
  expect((await settings()).tools).toEqual(['remember', 'recall', 'forget', 'search_memory', 'use_skill'])
  await change({ profile: null })
  expect(await seen()).toMatchObject({ profile: 'coding', isChosen: false })
})

test('PUT /api/agents/:id/tools: 200 enables or disables a tool against the profile, null restores the profile', async () => {
  const { settings, change, seen } = await openTestInstallation()
  await change({ profile: 'minimal', switches: { list_files: true, forget: false } })
  expect((await settings()).tools).toEqual(['remember', 'recall', 'search_memory', 'use_skill', 'list_files'])
  await change({ switches: { forget: null } })
  expect((await settings()).tools).toContain('forget')
  expect((await seen()).tools.find(({ name }) => name === 'delete_file')).toEqual({
    name: 'delete_file',
    profile: 'coding',
    isOn: false,
    approval: 'always',
    where: 'agent',
    unavailable: null,
  })
})

test('PUT /api/agents/:id/tools: 200 with limits of a turn; omitted ones stay unchanged, null restores the default', async () => {
  const { settings, change } = await openTestInstallation()
  expect((await settings()).limits).toEqual({ modelTurns: 16, toolCalls: 40, maxUsd: null })
  await change({ limits: { modelTurns: 3, maxUsd: 0.25 } })
  await change({ limits: { toolCalls: 5 } })
  expect((await settings()).limits).toEqual({ modelTurns: 3, toolCalls: 5, maxUsd: 0.25 })
  await change({ limits: { modelTurns: null, maxUsd: null } })
  expect((await settings()).limits).toEqual({ modelTurns: 16, toolCalls: 5, maxUsd: null })
})

test('PUT /api/agents/:id/tools: 200 denies open approvals of a disabled tool; POST /v1/approvals: 403 TOOL_OFF', async () => {
  const { asAgent, asOwner, change } = await openTestInstallation()
  const question = (tool: string, path: string) => ({ tool, arguments: JSON.stringify({ path }) })
  const ask = async (tool: string, path: string) =>
    (await read(Asked, asAgent('/v1/approvals', 'POST', question(tool, path)))).id
  const decide = async (id: string) => (await asOwner(`/api/approvals/${id}/approve`, 'POST')).status
  const status = async (id: string) => (await read(Asked, asAgent(`/v1/approvals/${id}`))).status
  const waiting = await ask('delete_file', 'a.md')
  const approved = await ask('delete_file', 'b.md')
  const other = await ask('move_file', 'c.md')
  const ofServer = await ask('weather/erase', 'd.md')
  expect(await decide(approved)).toBe(200)
  await change({ switches: { delete_file: false } })
  expect(await Promise.all([waiting, approved, other, ofServer].map(status))).toEqual([
    'denied',
    'denied',
    'waiting',
    'waiting',
  ])
  expect(await decide(waiting)).toBe(409)
  expect((await asAgent(`/v1/approvals/${approved}/use`, 'POST', question('delete_file', 'b.md'))).status).toBe(409)
  // A turn that started before may still ask.
  const refused = await asAgent('/v1/approvals', 'POST', question('delete_file', 'e.md'))
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'TOOL_OFF' }])
  await change({ profile: 'minimal', switches: { move_file: true } })
  expect([await status(other), await status(ofServer)]).toEqual(['waiting', 'denied'])
})

test('POST /v1/turn-limits: 200 notifies the owner once an hour per agent; 400 when the reason is unknown, 401 without a token', async () => {
  const { asAgent, asOwner, agent, clock, add, user } = await openTestInstallation()
  const listNotices = async () => {
    const { notices } = await read(NoticeList, asOwner('/api/notices'))
    return notices.map(({ kind, agentId, title, text }) => ({ kind, agentId, title, text }))
  }
  const report = (body: object, headers = agent.headers) => asAgent('/v1/turn-limits', 'POST', body, headers)
  const loop = { reason: 'loop', tool: 'read_page' }
  expect((await report(loop)).status).toBe(204)
  expect((await report({ reason: 'cost', tool: null })).status).toBe(204)
  expect(await listNotices()).toEqual([
    {
      kind: 'turn_limited',
      agentId: agent.id,
      title: 'Bo had a turn stopped',
      text: 'It called read_page with the same arguments again and again, so the turn was ended. What it had said is kept.',
    },
  ])
  const other = await add(user.id, 'Cy')
  await report({ reason: 'steps', tool: null }, other.headers)
  clock.advance(61 * 60_000)
  await report(loop)
  expect((await listNotices()).map(({ agentId }) => agentId)).toEqual([agent.id, other.id, agent.id])
  expect((await report({ reason: 'boredom', tool: null })).status).toBe(400)
  expect((await report(loop, { authorization: 'Bearer agt_wrong' })).status).toBe(401)
})

test.each([
  [{ profile: 'everything' }],
  [{ switches: { launch_rockets: true } }],
  [{ limits: { modelTurns: 0 } }],
  [{ limits: { maxUsd: -1 } }],
])('PUT /api/agents/:id/tools: 400 when the body is %j, and nothing changes', async (body) => {
  const { change, seen } = await openTestInstallation()
  const before = await seen()
  expect((await change(body)).status).toBe(400)
  expect(await seen()).toEqual(before)
})

test('/api/agents/:id/tools: 404 for another owner, 401 without a session', async () => {
  const { asStranger, path, web, asAgent } = await openTestInstallation()
  expect((await asStranger(path)).status).toBe(404)
  expect((await asStranger(path, 'PUT', { profile: 'full' })).status).toBe(404)
  expect((await web.request(path)).status).toBe(401)
  expect((await asAgent('/v1/tools', 'GET', undefined, { authorization: 'Bearer agt_wrong' })).status).toBe(401)
})

test('PUT /api/agents/:id/tools: 400 with the reason for shell and Python without confinement; no profile has them', async () => {
  const { seen, change, settings, platform, agent } = await openTestInstallation()
  const runIn = (place: { runtime: 'process' | 'docker' | 'swarm'; kind?: 'openclaw' }) =>
    write(platform.db, (tx) => tx.update(agents).set(place).where(eq(agents.id, agent.id)).run())
  const switchOn = () => change({ switches: { run_shell: true } })
  const shell = async () => (await seen()).tools.find(({ name }) => name === 'run_shell')
  const refusal = async () => {
    const response = await switchOn()
    return { status: response.status, ...Object(await response.json()) }
  }
  expect(await refusal()).toMatchObject({
    status: 400,
    code: 'NOT_CONFINED',
    error: expect.stringContaining('unknown until it is started'),
  })
  await runIn({ runtime: 'process' })
  expect(await refusal()).toMatchObject({
    status: 400,
    code: 'NOT_CONFINED',
    error: expect.stringContaining('acceptNotIsolated: true'),
  })
  const unavailable = expect.stringContaining('not isolated')
  expect(await shell()).toMatchObject({ isOn: false, profile: null, unavailable })
  expect((await change({ switches: { run_shell: true }, acceptNotIsolated: true })).status).toBe(200)
  expect(await settings()).toMatchObject({ acceptsNotIsolated: true, tools: expect.arrayContaining(['run_shell']) })
  expect((await change({ switches: { run_shell: false }, acceptNotIsolated: false })).status).toBe(200)
  for (const runtime of ['docker', 'swarm'] as const) {
    await runIn({ runtime })
    await change({ profile: 'full' })
    expect((await settings()).tools).not.toContain('run_shell')
    expect((await switchOn()).status).toBe(200)
    expect((await settings()).tools).toContain('run_shell')
    expect((await settings()).tools).not.toContain('run_python')
    expect(await shell()).toMatchObject({ isOn: true, approval: 'always', unavailable: null })
    await change({ switches: { run_shell: null } })
  }
  await switchOn()
  // For example a copy of its settings for an agent that runs elsewhere.
  await runIn({ runtime: 'process' })
  expect((await settings()).tools).not.toContain('run_shell')
  expect((await change({ switches: { run_shell: false } })).status).toBe(200)
  await runIn({ runtime: 'docker', kind: 'openclaw' })
  expect(await refusal()).toMatchObject({ status: 400, error: expect.stringContaining('OpenClaw') })
})
