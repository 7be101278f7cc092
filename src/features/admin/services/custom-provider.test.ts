import { expect, test } from 'bun:test'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { serviceCredentials } from '../../accounts/service-credentials/tables.ts'
import type { OpenProvider } from '../../ai/own-keys/own-keys.ts'
import { findOllama } from './custom-provider.ts'
import { ProviderTest, Services } from './schemas.ts'

const PATH = '/api/admin/services'
const KEY = 'sk-lab-0123456789'
const HI = [{ role: 'user', content: 'Hi' }]

/** A platform without a provider, its administrator on the plan network, and a server in OpenAI's form. */
async function withLab(environment: Record<string, string> = {}) {
  const lab = await startProvider()
  lab.offer(['qwen3-32b', 'meta/llama'])
  const test = testPlatform({ environment: { ADMIN_EMAILS: 'ada@example.com', ...environment } })
  const ada = await test.signIn('ada@example.com', 'network')
  const deps = { db: test.platform.db, clock: test.clock }
  const { key } = await createKey(deps, ada.user.id, { name: 'x' })
  return {
    ...test,
    lab,
    list: async () => (await read(Services, test.web.request(PATH, { headers: ada.cookie }))).providers,
    send: (method: 'PUT' | 'DELETE' | 'POST', path: string, body?: unknown) =>
      test.web.request(`${PATH}/providers/${path}`, json(method, body, ada.cookie)),
    ask: (model: string) =>
      test.backend.request('/v1/chat/completions', json('POST', { model, messages: HI }, bearer(key))),
    [Symbol.asyncDispose]: () => lab.stop(),
  }
}

test('PUT /api/admin/services/providers/:id: 200 for a URL, whose models are listed as <id>/<model> without a price', async () => {
  await using test = await withLab()
  const body = { baseUrl: `${test.lab.baseUrl}/`, apiKey: KEY, label: 'Our lab' }
  const set = await test.send('PUT', 'lab', body)
  expect(set.status).toBe(200)
  expect(await set.text()).not.toContain(KEY)
  expect(await test.list()).toContainEqual({
    ...{ id: 'lab', source: 'dashboard', models: 2, unpriced: 2 },
    ...{ baseUrl: test.lab.baseUrl, label: 'Our lab', hasKey: true },
  })
  const answer = await test.ask('lab/meta/llama')
  expect([answer.status, answer.headers.get('x-model'), answer.headers.get('x-provider')]).toEqual([
    200,
    'lab/meta/llama',
    'lab',
  ])
  expect(test.lab.chats.at(-1)).toMatchObject({
    headers: { authorization: `Bearer ${KEY}` },
    body: { model: 'meta/llama' },
  })
  expect(answer.headers.get('x-cost-usd')).toBeNull()
  expect((await test.ask('qwen3-32b')).headers.get('x-model')).toBe('lab/qwen3-32b')
  expect(dumpTables(test.platform.db)).not.toContain(KEY)
})

test('PUT /api/admin/services/providers/:id: 200 keeps the key when the label changes, and removes it when the host changes', async () => {
  await using test = await withLab()
  await using other = await startProvider()
  await test.send('PUT', 'lab', { baseUrl: test.lab.baseUrl, apiKey: KEY })
  await test.send('PUT', 'lab', { baseUrl: test.lab.baseUrl, label: 'Renamed' })
  expect(await test.list()).toContainEqual(expect.objectContaining({ id: 'lab', label: 'Renamed', hasKey: true }))
  await test.send('PUT', 'lab', { baseUrl: other.baseUrl })
  expect(await test.list()).toContainEqual(expect.objectContaining({ baseUrl: other.baseUrl, hasKey: false }))
  await test.ask('lab/openai/gpt-4o')
  expect(other.chats[0]?.headers.authorization).toBeUndefined()
})

test('DELETE /api/admin/services/providers/:id: 200 and its models are removed', async () => {
  await using test = await withLab()
  await test.send('PUT', 'lab', { baseUrl: test.lab.baseUrl })
  expect((await test.send('DELETE', 'lab')).status).toBe(200)
  expect((await test.list()).some(({ id }) => id === 'lab')).toBe(false)
  expect(test.platform.db.select().from(serviceCredentials).all()).toEqual([])
  expect((await test.ask('lab/qwen3-32b')).status).not.toBe(200)
  expect((await test.send('DELETE', 'lab')).status).toBe(404)
})

test('PUT /api/admin/services/providers/:id: 400, 404 and 502 store nothing', async () => {
  await using test = await withLab()
  const { baseUrl } = test.lab
  for (const [id, body, status] of [
    ['lab', { baseUrl: 'ftp://lab' }, 400],
    ['lab', { baseUrl: 'http://user:secret@lab/v1' }, 400],
    ['lab', { baseUrl, label: 'x'.repeat(61) }, 400],
    ['Bad_Name', { baseUrl }, 400],
    ['openai', { baseUrl, apiKey: KEY }, 400],
    ['local', { baseUrl }, 400],
    ['lab', { apiKey: KEY }, 404],
    ['lab', { baseUrl: 'http://127.0.0.1:1/v1' }, 502],
  ] as const) {
    expect([id, body, (await test.send('PUT', id, body)).status]).toEqual([id, body, status])
  }
  test.lab.listModelsWith(401)
  const refused = await test.send('PUT', 'lab', { baseUrl, apiKey: KEY })
  expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'CREDENTIALS_REFUSED' }])
  expect(test.platform.db.select().from(serviceCredentials).all()).toEqual([])
})

test('POST /api/admin/services/providers/:id/test: 200 with the models, and nothing is stored', async () => {
  await using test = await withLab()
  const tried = await read(ProviderTest, test.send('POST', 'lab/test', { baseUrl: test.lab.baseUrl }))
  expect(tried).toEqual({ baseUrl: test.lab.baseUrl, count: 2, models: ['qwen3-32b', 'meta/llama'] })
  expect(test.platform.db.select().from(serviceCredentials).all()).toEqual([])
  expect((await test.send('POST', 'lab/test', {})).status).toBe(404)
})

test('PUT /api/admin/services/providers/:id: 200 and /v1 is added when only that path lists models', async () => {
  await using test = await withLab()
  using server = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      new URL(url).pathname === '/v1/models'
        ? Response.json({ data: [{ id: 'tiny' }] })
        : new Response('not found', { status: 404 }),
  })
  expect((await test.send('PUT', 'ollama', { baseUrl: `http://127.0.0.1:${server.port}` })).status).toBe(200)
  expect(await test.list()).toContainEqual(
    expect.objectContaining({ id: 'ollama', models: 1, baseUrl: `http://127.0.0.1:${server.port}/v1` }),
  )
})

test('PUT /api/admin/services/providers/:id: 409 SET_BY_ENVIRONMENT for PROVIDER_<NAME>_BASE_URL, whose models are served', async () => {
  const lab = await startProvider()
  lab.offer(['qwen3-32b'])
  await using test = await withLab({ PROVIDER_MY_LAB_BASE_URL: lab.baseUrl, PROVIDER_MY_LAB_API_KEY: KEY })
  await test.platform.catalogue.refresh(new AbortController().signal)
  expect(await test.list()).toContainEqual(
    expect.objectContaining({ id: 'my-lab', source: 'environment', models: 1, hasKey: true, label: null }),
  )
  expect((await test.ask('my-lab/qwen3-32b')).status).toBe(200)
  for (const response of [
    await test.send('PUT', 'my-lab', { baseUrl: lab.baseUrl }),
    await test.send('DELETE', 'my-lab'),
  ]) {
    expect([response.status, await response.json()]).toMatchObject([409, { code: 'SET_BY_ENVIRONMENT' }])
  }
  await lab.stop()
})

test('findOllama returns the address and the number of models when one answers, else null', async () => {
  await using double = await startProvider()
  const open: OpenProvider = (id, apiKey, custom = { baseUrl: '', dialects: [] }) =>
    createHttpProvider({ id, ...custom, apiKey, timeoutMs: 5000 }, { fetch })
  expect(await findOllama(open, double.baseUrl)).toEqual({ baseUrl: double.baseUrl, models: 4 })
  expect(await findOllama(open, 'http://127.0.0.1:1/v1')).toBeNull()
})
