import { expect, test } from 'bun:test'
import { z } from 'zod'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import type { TestOptions } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { ApprovalList } from '../../conversations/approvals/schemas.ts'

/** Servers of others, on loopback. */
function openWeb() {
  const received: { method: string; path: string; body: string; headers: Headers }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      received.push({ method: request.method, path: pathname, body: await request.text(), headers: request.headers })
      if (pathname === '/page') return new Response(PAGE, { headers: { 'content-type': 'text/html' } })
      if (pathname === '/away') return Response.redirect('http://127.0.0.2/secret')
      if (pathname === '/search')
        return Response.json({
          results: [{ title: '<b>Tea</b>', url: 'https://tea.example', content: 'Hot <em>tea</em>' }],
        })
      return Response.json({ path: pathname })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, received, [Symbol.asyncDispose]: () => server.stop(true) }
}
const PAGE = `<!doctype html><title>Tea</title><article><h1>About tea</h1>${'<p>Tea is a drink made of leaves and hot water, and many people like it very much.</p>'.repeat(8)}</article>`

async function openTestInstallation(environment: Record<string, string> = {}, options: TestOptions = {}) {
  const owner = await agentOwner({ ...options, environment: { SUMMARIZER_ALLOW_PRIVATE: 'true', ...environment } })
  const { asAgent, asOwner, agent } = owner
  const http = async (input: object, approvalId?: string) => {
    const response = await asAgent('/v1/http', 'POST', { arguments: JSON.stringify(input), approvalId })
    return { status: response.status, body: await response.json() }
  }
  return {
    ...owner,
    http,
    allow: (httpHosts: string[]) => asOwner(`/api/agents/${agent.id}/tools`, 'PUT', { httpHosts }),
    approve: async (input: object, tool = 'http_request') => {
      const asked = await asAgent('/v1/approvals', 'POST', { tool, arguments: JSON.stringify(input) })
      const { id } = Object(await asked.json())
      await asOwner(`/api/approvals/${id}/approve`, 'POST')
      return String(id)
    },
  }
}

test('POST /v1/pages: 200 with a page as Markdown, 502 with the reason when it cannot be read', async () => {
  await using web = openWeb()
  const { asAgent } = await openTestInstallation()
  const read = await asAgent('/v1/pages', 'POST', { url: `${web.url}/page` })
  expect([read.status, await read.json()]).toEqual([
    200,
    { title: 'Tea', url: `${web.url}/page`, publishedAt: null, markdown: expect.stringContaining('Tea is a drink') },
  ])
  expect((await asAgent('/v1/pages', 'POST', { url: 'http://127.0.0.1:1/' })).status).toBe(502)
  expect((await asAgent('/v1/pages', 'POST', {})).status).toBe(400)
})

test('POST /v1/pages and /v1/http: 502 for a private address unless the operator allows it', async () => {
  await using web = openWeb()
  const { asAgent, allow, http } = await openTestInstallation({ SUMMARIZER_ALLOW_PRIVATE: 'false' })
  await allow(['127.0.0.1', 'localhost'])
  expect((await asAgent('/v1/pages', 'POST', { url: `${web.url}/page` })).status).toBe(502)
  for (const host of ['127.0.0.1', 'localhost']) expect((await http({ url: `http://${host}:8080/` })).status).toBe(502)
  expect(web.received).toEqual([])
})

test('POST /v1/search: 200 from SearXNG without markup; 503 when no engine is set, 502 when it fails', async () => {
  await using web = openWeb()
  const { asAgent } = await openTestInstallation({ SEARXNG_URL: `${web.url}/` })
  const found = await asAgent('/v1/search', 'POST', { query: 'tea & milk' })
  expect(await found.json()).toEqual({ results: [{ title: 'Tea', url: 'https://tea.example', snippet: 'Hot tea' }] })
  const none = await (await openTestInstallation()).asAgent('/v1/search', 'POST', { query: 'tea' })
  expect([none.status, await none.json()]).toMatchObject([503, { code: 'NOT_CONFIGURED' }])
  const broken = await openTestInstallation({ SEARXNG_URL: `${web.url}/broken` })
  expect((await broken.asAgent('/v1/search', 'POST', { query: 'tea' })).status).toBe(502)
})

test('POST /v1/search: 200 from Brave with its key when SearXNG is not set', async () => {
  const asked: { url: string; key: string | null }[] = []
  const brave = async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    asked.push({ url: String(input), key: new Headers(init?.headers).get('x-subscription-token') })
    return Response.json({ web: { results: [{ title: 'Tea', url: 'https://tea.example', description: 'Hot' }] } })
  }
  const searching = Object.assign(brave, { preconnect: globalThis.fetch.preconnect })
  const { asAgent } = await openTestInstallation({ BRAVE_API_KEY: 'brave-key' }, { fetch: searching })
  const found = await asAgent('/v1/search', 'POST', { query: 'tea' })
  expect(await found.json()).toEqual({ results: [{ title: 'Tea', url: 'https://tea.example', snippet: 'Hot' }] })
  expect(asked).toEqual([{ url: 'https://api.search.brave.com/res/v1/web/search?q=tea&count=10', key: 'brave-key' }])
})

test('POST /v1/http: 403 unless the owner allows the host, also for a redirect', async () => {
  await using web = openWeb()
  const { http, allow } = await openTestInstallation()
  const refused = await http({ url: `${web.url}/data` })
  expect([refused.status, refused.body]).toMatchObject([403, { code: 'HOST_NOT_ALLOWED' }])
  expect(web.received).toEqual([])
  await allow(['127.0.0.1', '*.example.com'])
  expect(await http({ url: `${web.url}/data` })).toMatchObject({
    status: 200,
    body: { status: 200, body: '{"path":"/data"}' },
  })
  expect(await http({ url: `${web.url}/away` })).toMatchObject({ status: 200, body: { status: 302 } })
  for (const url of ['https://example.com/', 'https://badexample.com/', 'https://127.0.0.1.evil.org/'])
    expect((await http({ url })).status).toBe(403)
  for (const input of [{ url: 'file:///etc/passwd' }, { url: `${web.url}/`, method: 'TRACE' }, {}])
    expect((await http(input)).status).toBe(400)
})

test('POST /v1/http: 403 when a request may change something, 200 once with an approval of exactly that request', async () => {
  await using web = openWeb()
  const { http, allow, approve } = await openTestInstallation()
  await allow(['127.0.0.1'])
  const input = { url: `${web.url}/orders`, method: 'POST', headers: {}, body: 'one' }
  expect(await http(input)).toMatchObject({ status: 403, body: { code: 'NOT_APPROVED' } })
  expect((await http(input, 'apr_none')).status).toBe(404)
  const id = await approve(input)
  expect(await http({ ...input, body: 'a thousand' }, id)).toMatchObject({ status: 409 })
  expect((await http(input, await approve(input, 'delete_file'))).status).toBe(409)
  expect(web.received).toEqual([])
  expect((await http(input, id)).status).toBe(200)
  expect((await http(input, id)).status).toBe(409)
  expect(web.received).toMatchObject([{ method: 'POST', path: '/orders', body: 'one' }])
  expect(JSON.stringify([...(web.received[0]?.headers ?? [])])).not.toContain('agt_')
})

test('POST /v1/http: 200 for the URL that was shown when the arguments repeat it; 400 when a field is unknown', async () => {
  await using web = openWeb()
  const { allow, asAgent, asOwner } = await openTestInstallation()
  await allow(['127.0.0.1'])
  const padding = JSON.stringify('x'.repeat(50_000))
  const twice = `{"url":"${web.url}/harmless","method":"POST","body":${padding},"url":"${web.url}/orders"}`
  const asked = await asAgent('/v1/approvals', 'POST', { tool: 'http_request', arguments: twice })
  const { id } = z.object({ id: z.string() }).parse(await asked.json())
  const [shown] = (await read(ApprovalList, asOwner('/api/approvals'))).approvals
  expect(shown?.arguments).not.toContain('harmless')
  expect(JSON.parse(shown?.arguments ?? '')).toMatchObject({ url: `${web.url}/orders`, method: 'POST' })
  await asOwner(`/api/approvals/${id}/approve`, 'POST')
  const other = twice.replace('/orders', '/elsewhere')
  expect((await asAgent('/v1/http', 'POST', { arguments: other, approvalId: id })).status).toBe(409)
  expect((await asAgent('/v1/http', 'POST', { arguments: twice, approvalId: id })).status).toBe(200)
  expect(web.received.map(({ path }) => path)).toEqual(['/orders'])

  const misleading = JSON.stringify({ URL: `${web.url}/harmless`, url: `${web.url}/orders`, method: 'POST' })
  expect((await asAgent('/v1/http', 'POST', { arguments: misleading, approvalId: id })).status).toBe(400)
})

test('/v1 routes of tools: 403 TOOL_OFF when the owner disabled the tool', async () => {
  const { asAgent, asOwner, agent } = await openTestInstallation()
  const off = { read_page: false, web_search: false, http_request: false, message_agent: false, schedule: false }
  await asOwner(`/api/agents/${agent.id}/tools`, 'PUT', { switches: off })
  const bodies = {
    '/v1/pages': { url: 'https://a.example' },
    '/v1/search': { query: 'x' },
    '/v1/http': { arguments: '{}' },
    '/v1/agents/agent_x/messages': { message: 'x' },
    '/v1/scheduled-tasks': { name: 'x', cronSchedule: '0 9 * * *', prompt: 'x' },
  }
  for (const [path, body] of Object.entries(bodies)) {
    const response = await asAgent(path, 'POST', body)
    expect([path, response.status, await response.json()]).toMatchObject([path, 403, { code: 'TOOL_OFF' }])
  }
})
