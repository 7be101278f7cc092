import { expect, test } from 'bun:test'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { agentOwner } from '../../harness/agent-owner.ts'
import { INTERNAL_KEY, testPlatform } from '../../harness/platform.ts'
import { bearer } from '../../harness/requests.ts'

const PIECE = new Uint8Array(64 * 1024).fill(0x20)
const PIECES = 129
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE']

/** Returns a body slightly over the 8 MB limit of model routes. */
function largeBody(): ReadableStream<Uint8Array> {
  let left = PIECES
  return new ReadableStream({
    pull(controller) {
      if (left === 0) return controller.close()
      left -= 1
      controller.enqueue(PIECE)
    },
  })
}

/** Routes that reject before reading the body, because of the query or signature headers. */
const REFUSED_BEFORE = {
  web: [
    '400 POST /api/chat/attachments',
    '400 DELETE /api/memory',
    '401 POST /api/webhooks/agents/:id',
    '503 POST /api/webhooks/email',
    '400 POST /api/browse/upload',
    '400 DELETE /api/browse/delete',
    '400 DELETE /api/browse/git-credentials',
  ],
  backend: [
    '401 PUT /api/installations/self',
    '400 POST /api/browse/upload',
    '400 DELETE /api/browse/delete',
    '400 DELETE /api/browse/git-credentials',
    '401 DELETE /v1/memory',
  ],
  summarizer: [],
}

test.each(['web', 'backend', 'summarizer'] as const)(
  'every route of the %s API: 413 for a chunked body over its limit',
  async (api) => {
    const owner = await agentOwner({ environment: { ADMIN_EMAILS: 'ada@example.com' } }, 'network')
    const { app, platform, api: open, cookie, agent } = owner
    const plan = { 'x-user-plan': 'network', 'x-billing-subscription-id': 'sub_1' }
    const callers = api === 'web' ? [cookie] : [{ ...bearer(INTERNAL_KEY), ...plan }, agent.headers]
    const routes = app.routes.filter(
      ({ method, path, handler }) =>
        METHODS.includes(method) && path.startsWith(`/${api}/`) && !isMiddleware(findTargetHandler(handler)),
    )
    const names = new Set(routes.map(({ method, path }) => `${method} ${path.slice(api.length + 1)}`))
    const others: string[] = []
    for (const [index, route] of [...names, 'POST /nowhere'].entries()) {
      const [method = '', path = ''] = route.split(' ')
      const ask = async (headers: Record<string, string>) => {
        const sent = { ...headers, 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
        const request = { method, headers: sent, body: largeBody() }
        const target = open(api, { address: `2001:db8:0:${index}::1` })
        return (await target.request(path.replaceAll(/:\w+/g, 'x'), request)).status
      }
      const statuses = await Promise.all(callers.map(ask))
      if (!statuses.includes(413)) others.push(`${statuses[0]} ${route}`)
    }
    expect(others).toEqual(REFUSED_BEFORE[api])
    expect(platform.accounts.bodies.bytesUnderWay()).toBe(0)
  },
)

test('GET /healthz: 413 on each port when its content-length exceeds 1 MB', async () => {
  const { app } = testPlatform()
  const headers = { 'content-length': String(1024 * 1024 + 1) }
  for (const api of ['web', 'backend', 'summarizer'] as const) {
    const request = new Request('http://localhost/healthz', { headers })
    expect((await app.fetch(request, { api, address: '127.0.0.1' })).status).toBe(413)
  }
})
