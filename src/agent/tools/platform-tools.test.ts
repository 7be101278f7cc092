import { expect, test } from 'bun:test'
import { z } from 'zod'
import { startOwnedAgent } from '../../../tests/harness/owned-agent.ts'
import { read } from '../../../tests/harness/requests.ts'

const TaskList = z.object({ tasks: z.array(z.object({ id: z.string(), enabled: z.boolean() })) })
const LOCAL = { environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' } }

function openSite() {
  const received: { method: string; body: string }[] = []
  const html = `<title>Tea</title><article>${'<p>Tea is a drink that is made of leaves and of hot water.</p>'.repeat(9)}</article>`
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname === '/page')
        return new Response(html, { headers: { 'content-type': 'text/html' } })
      received.push({ method: request.method, body: await request.text() })
      return Response.json({ ok: true })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, received, [Symbol.asyncDispose]: () => server.stop(true) }
}

test('read_page returns a page as Markdown, or the reason when it cannot be read', async () => {
  await using site = openSite()
  await using agent = await startOwnedAgent(LOCAL)
  expect(JSON.parse(await agent.running.runTool('read_page', { url: `${site.url}/page` }))).toMatchObject({
    title: 'Tea',
    content: expect.stringContaining('Tea is a drink'),
  })
  expect(await agent.running.runTool('read_page', { url: 'http://127.0.0.1:1/' })).toContain('http://127.0.0.1:1/')
})

test('web_search returns an error when it is not configured', async () => {
  await using agent = await startOwnedAgent(LOCAL)
  expect(await agent.running.runTool('web_search', { query: 'tea' })).toContain('SEARXNG_URL')
})

test('http_request sends GET to an allowed host at once, and POST when the owner approves', async () => {
  await using site = openSite()
  await using agent = await startOwnedAgent(LOCAL)
  expect(await agent.running.runTool('http_request', { url: site.url })).toContain('has not allowed the host')
  await agent.asOwner(`/api/agents/${agent.agent.id}/tools`, 'PUT', { httpHosts: ['127.0.0.1'] })
  expect(JSON.parse(await agent.running.runTool('http_request', { url: site.url }))).toMatchObject({ status: 200 })
  const post = agent.running.runTool('http_request', { url: site.url, method: 'POST', body: 'order one' })
  const question = await agent.question()
  expect(JSON.parse(question.arguments)).toEqual({ url: site.url, method: 'POST', headers: {}, body: 'order one' })
  expect(site.received).toHaveLength(1)
  await agent.decide(question.id, 'approve')
  expect(JSON.parse(await post)).toMatchObject({ status: 200 })
  expect(site.received.at(-1)).toEqual({ method: 'POST', body: 'order one' })
})

test('schedule creates, lists and cancels tasks that run once, at intervals or by cron with a time zone', async () => {
  await using agent = await startOwnedAgent(LOCAL)
  const schedule = async (input: object) => JSON.parse(await agent.running.runTool('schedule', input))
  const create = { action: 'create', name: 'Tea', prompt: 'Say that tea is ready' }
  const once = await schedule({ ...create, when: '@at 2099-01-31T09:00:00+01:00' })
  expect(once.nextRun).toBe('2099-01-31T08:00:00.000Z')
  const often = await schedule({ ...create, when: '@every 15m' })
  expect(often.nextRun).toBe(new Date(agent.clock.now().getTime() + 15 * 60_000).toISOString())
  expect((await schedule({ ...create, when: '0 9 * * *', timezone: 'Europe/Berlin' })).timezone).toBe('Europe/Berlin')
  expect(await agent.running.runTool('schedule', { ...create, when: 'soon' })).toContain(
    'Invalid cron schedule. Expected 5-6 fields (e.g., "0 9 * * *"): Expected 5 or 6 fields',
  )
  expect((await schedule({ action: 'list' })).tasks).toHaveLength(3)
  expect((await schedule({ action: 'cancel', taskId: often.id })).enabled).toBe(false)
  const { tasks } = await read(TaskList, agent.asOwner(`/api/scheduled-tasks?agentId=${agent.agent.id}`))
  expect(tasks.map(({ id, enabled }) => [id, enabled])).toContainEqual([often.id, false])
})

test('schedule uses the owner’s time zone for relative and local times, and refuses a past time', async () => {
  await using agent = await startOwnedAgent(LOCAL)
  agent.clock.set(new Date('2026-11-20T12:00:00Z'))
  await agent.asOwner('/api/settings', 'PATCH', { timeZone: 'Europe/Berlin' })
  const create = { action: 'create', name: 'Tea', prompt: 'Say that tea is ready' }
  const nextRun = async (when: string) =>
    JSON.parse(await agent.running.runTool('schedule', { ...create, when })).nextRun
  expect(await nextRun('in 10 minutes')).toBe('2026-11-20T12:10:00.000Z')
  expect(await nextRun('2026-11-20T14:00')).toBe('2026-11-20T13:00:00.000Z')
  expect(await nextRun('0 9 * * *')).toBe('2026-11-21T08:00:00.000Z')
  expect(await agent.running.runTool('schedule', { ...create, when: '2026-11-20T12:30' })).toContain(
    'has passed: it is Friday, 20 November 2026, 13:00 (Europe/Berlin, GMT+1)',
  )
})

test('list_agents and message_agent access only agents of the same owner', async () => {
  await using agent = await startOwnedAgent(LOCAL)
  const other = await agent.add(agent.user.id, 'Cy')
  const { agents } = JSON.parse(await agent.running.runTool('list_agents', {}))
  expect(agents).toMatchObject([{ id: other.id, name: 'Cy' }])
  const say = (agentId: string) => agent.running.runTool('message_agent', { agentId, message: 'Hi' })
  expect(await say(other.id)).toContain('Agent is not running')
  expect(await say(agent.strangersAgent.id)).toContain('Agent not found')
})

test('paid_request waits for the owner each time, and pays only from the agent’s wallet', async () => {
  await using agent = await startOwnedAgent(LOCAL)
  await agent.asOwner(`/api/agents/${agent.agent.id}/tools`, 'PUT', { profile: 'full' })
  const input = { url: 'https://paid.example/', maxAmount: '0.05' }
  const denied = agent.running.runTool('paid_request', input)
  const question = await agent.question()
  expect(JSON.parse(question.arguments)).toEqual({ url: 'https://paid.example/', method: 'GET', maxAmount: '0.05' })
  await agent.decide(question.id, 'deny')
  expect(await denied).toContain('denied')
  const allowed = agent.running.runTool('paid_request', input)
  await agent.decide((await agent.question()).id, 'approve')
  expect(await allowed).toContain('This agent has no wallet')
})
