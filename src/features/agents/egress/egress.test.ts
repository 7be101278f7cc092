import { expect, test } from 'bun:test'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../registry/tables.ts'

/** An address that the outside believes to be public. */
const PUBLIC = '93.184.215.14'

async function open(environment: Record<string, string> = {}) {
  const owner = await agentOwner({
    environment,
    agentNetwork: {
      resolve: async () => [{ address: PUBLIC, family: 4 }],
      // Nothing listens there: these tests look at decisions only.
      route: () => ({ address: { address: '127.0.0.1', family: 4 }, port: 9 }),
    },
  })
  const path = `/api/agents/${owner.agent.id}/egress`
  const answer = async (response: Response | Promise<Response>) => {
    const { status } = await response
    return { status, body: Object(await (await response).json()) }
  }
  return {
    ...owner,
    path,
    answer,
    get: (below = '') => answer(owner.asOwner(`${path}${below}`)),
    put: (body: unknown) => answer(owner.asOwner(path, 'PUT', body)),
    allow: (destination: string) => answer(owner.asOwner(`${path}/allow`, 'POST', { destination })),
    readPage: (url: string) => answer(owner.asAgent('/v1/pages', 'POST', { url })),
  }
}

test('GET /api/agents/:id/egress: 200 with the default, then with the policy of the owner', async () => {
  const { get, put } = await open()
  expect(await get()).toEqual({ status: 200, body: { policy: 'open', allow: [], isDefault: true, gap: null } })
  const allow = ['API.Example.com', '*.Example.org', 'example.net:8443', 'bücher.example', '8.8.8.8', 'api.example.com']
  const canonical = ['api.example.com', '*.example.org', 'example.net:8443', 'xn--bcher-kva.example', '8.8.8.8']
  const changed = { policy: 'allow-list', allow: canonical, isDefault: false, gap: null }
  expect(await put({ policy: 'allow-list', allow })).toEqual({ status: 200, body: changed })
  expect(await get()).toEqual({ status: 200, body: changed })
  expect(await put({ policy: 'none' })).toEqual({ status: 200, body: { ...changed, policy: 'none' } })
})

test('GET /api/agents/:id/egress: 200 with the default of the template', async () => {
  const it = await open({ EGRESS_DEFAULT: 'none', EGRESS_BY_TEMPLATE: 'research=open, support=allow-list' })
  expect(await it.get()).toMatchObject({ body: { policy: 'none' } })
  await write(it.platform.db, (tx) => tx.update(agents).set({ config: '{"template":"support"}' }).run())
  expect(await it.get()).toMatchObject({ body: { policy: 'allow-list', isDefault: true } })
})

test('PUT /api/agents/:id/egress: 400 when the policy is unknown or a destination is not public', async () => {
  const { put } = await open()
  expect((await put({ policy: 'closed' })).status).toBe(400)
  for (const entry of ['', '*', '*.com', 'a b', 'http://a.example', 'a.example:0', 'a.example:99999', 'a.example/x']) {
    expect([entry, (await put({ policy: 'allow-list', allow: [entry] })).status]).toEqual([entry, 400])
  }
  for (const entry of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '[::1]',
    '169.254.169.254',
    '10.0.0.1:80',
    '[::ffff:10.0.0.1]',
  ]) {
    expect([entry, (await put({ policy: 'allow-list', allow: [entry] })).status]).toEqual([entry, 400])
  }
})

test('GET and PUT /api/agents/:id/egress: 404 for a stranger', async () => {
  const { path, signIn, web } = await open()
  const { cookie } = await signIn('mallory@example.com')
  const calls = [
    web.request(path, { headers: cookie }),
    web.request(path, json('PUT', { policy: 'none' }, cookie)),
    web.request(`${path}/allow`, json('POST', { destination: 'a.example' }, cookie)),
    web.request(`${path}/blocked`, { headers: cookie }),
  ]
  for (const response of await Promise.all(calls)) expect(response.status).toBe(404)
})

test('POST /v1/pages: 403 when the policy does not allow the destination, until the owner allows it', async () => {
  const { put, readPage, get, allow } = await open()
  await put({ policy: 'none' })
  const refused = await readPage('https://api.example.com/page')
  expect(refused).toMatchObject({ status: 403, body: { code: 'EGRESS_BLOCKED' } })
  await readPage('https://api.example.com/other')
  const { body } = await get('/blocked')
  expect(body.blocked).toMatchObject([{ host: 'api.example.com', port: 443, reason: 'policy', count: 2 }])
  expect(await allow('api.example.com:443')).toMatchObject({
    status: 200,
    body: { policy: 'allow-list', allow: ['api.example.com:443'] },
  })
  expect((await get('/blocked')).body).toEqual({ blocked: [] })
  // Allowed, and nothing answers there.
  expect((await readPage('https://api.example.com/page')).status).toBe(502)
  expect((await readPage('http://api.example.com/page')).status).toBe(403)
})

test('POST /v1/pages: 502 for a private address for any SUMMARIZER_ALLOW_PRIVATE, and it is listed as blocked', async () => {
  const { readPage, get } = await open({ SUMMARIZER_ALLOW_PRIVATE: 'true', EGRESS_PRIVATE_HOSTS: '' })
  expect((await readPage('http://127.0.0.1:8080/')).status).toBe(502)
  expect((await get('/blocked')).body.blocked).toMatchObject([{ host: '127.0.0.1', port: 8080, reason: 'address' }])
})

test('GET /api/agents/:id/egress/blocked: 200 with the latest 100 destinations', async () => {
  const { put, readPage, get } = await open()
  await put({ policy: 'none' })
  for (let index = 0; index < 120; index++) await readPage(`https://host-${index}.example/`)
  expect((await get('/blocked')).body.blocked).toHaveLength(100)
})

test('POST /api/agents/:id/egress/allow: 429 at 200 destinations', async () => {
  const { put, allow } = await open()
  await put({ policy: 'allow-list', allow: Array.from({ length: 200 }, (_, index) => `host-${index}.example`) })
  expect((await allow('one-more.example')).status).toBe(429)
})
