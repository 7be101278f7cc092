import { expect, test } from 'bun:test'
import { z } from 'zod'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { UNCACHED, type UsageEvent } from '../usage/rows/event.ts'
import { requestBodies, usageLogs, usageTags } from '../usage/tables.ts'
import { DeletedBodies, RequestDetail, RequestList } from './schemas.ts'
import { type CallFilters, selectSearched } from './search.ts'

const CALL: Omit<UsageEvent, 'userId' | 'generationId'> = {
  agentId: 'direct',
  keyId: 'key_1',
  model: 'small',
  provider: 'one',
  attempts: 1,
  isOwnKey: false,
  isEstimated: false,
  ...UNCACHED,
  inputTokens: 100,
  outputTokens: 20,
  costMicroUsd: 1500,
  endpoint: '/v1/chat/completions',
  latencyMs: 900,
  errorMessage: null,
}

/** Ada with five requests, one minute apart, and Eve with one. */
async function withRequests() {
  const test = testPlatform()
  test.clock.set(new Date('2026-11-18T12:00:00Z'))
  const ada = await test.signIn('ada@example.com', 'solo')
  const eve = await test.signIn('eve@example.com', 'solo')
  const record = (id: string, change: Partial<UsageEvent>) => {
    test.platform.usage.record({ ...CALL, userId: ada.user.id, generationId: id, ...change })
    test.clock.advance(60_000)
  }
  const step = { model: 'large', provider: 'one', latencyMs: 30, failure: 'broken', error: 'cut off' }
  const first = { ...step, generationId: 'gen_1' }
  record('gen_1', { model: 'large', errorMessage: 'cut off', endUser: 'mia', tags: ['team=a', 'beta'] })
  record('gen_2', {
    ...{ attempts: 2, callId: 'gen_1', endUser: 'mia', tags: ['team=a'] },
    ...{ firstTokenMs: 120, priceSource: 'list', finishReason: 'stop' },
    trail: [first, { ...step, generationId: 'gen_2', model: 'small', failure: null, error: null }],
  })
  record('gen_3', { agentId: 'bo', keyId: null, tags: ['beta'] })
  record('gen_4', { keyId: 'key_2', model: 'large', endUser: 'kim' })
  record('gen_5', { keyId: null, costMicroUsd: null })
  record('gen_eve', { userId: eve.user.id, endUser: 'mia', tags: ['team=a'] })
  await test.platform.usage.flush()
  const get = (path: string, headers: Record<string, string> = ada.cookie) => test.web.request(path, { headers })
  const list = async (query: string) =>
    (await read(RequestList, get(`/api/requests?${query}`))).requests.map(({ generationId }) => generationId)
  return { ...test, ada, eve, get, list }
}

test('GET /api/requests: 200 with the user’s requests, newest first, page by page', async () => {
  const { get, eve } = await withRequests()
  const first = await read(RequestList, get('/api/requests?limit=3'))
  expect(first.requests.map(({ generationId }) => generationId)).toEqual(['gen_5', 'gen_4', 'gen_3'])
  const rest = await read(RequestList, get(`/api/requests?limit=3&before=${first.next}`))
  expect(rest.requests.map(({ generationId }) => generationId)).toEqual(['gen_2', 'gen_1'])
  expect(rest.next).toBeNull()
  expect(rest.requests[0]).toMatchObject({
    ...{ model: 'small', attempts: 2, endUser: 'mia', tags: ['team=a'], costUsd: 0.0015, priceSource: 'list' },
    ...{ firstTokenMs: 120, finishReason: 'stop', cachedInputTokens: 0, succeeded: true },
  })
  expect(first.requests[0]).toMatchObject({ costUsd: null, endUser: null, tags: [] })
  const foreign = await read(RequestList, get('/api/requests', eve.cookie))
  expect(foreign.requests.map(({ generationId }) => generationId)).toEqual(['gen_eve'])
})

test('GET /api/requests: 200 filtered by key, agent, model, end user, tag, status, time, and several at once', async () => {
  const { list } = await withRequests()
  expect(await list('key=key_1')).toEqual(['gen_2', 'gen_1'])
  expect(await list('agent=bo')).toEqual(['gen_3'])
  expect(await list('agent=direct')).toEqual(['gen_5', 'gen_4', 'gen_2', 'gen_1'])
  expect(await list('model=large')).toEqual(['gen_4', 'gen_1'])
  expect(await list('endUser=mia')).toEqual(['gen_2', 'gen_1'])
  expect(await list('tag=beta')).toEqual(['gen_3', 'gen_1'])
  expect(await list('tag=team%3Da&status=succeeded')).toEqual(['gen_2'])
  expect(await list('status=failed')).toEqual(['gen_1'])
  expect(await list('model=large&endUser=mia&status=failed')).toEqual(['gen_1'])
  expect(await list('from=2026-11-18T12:01:00Z&to=2026-11-18T12:03:00Z')).toEqual(['gen_3', 'gen_2'])
  expect(await list('tag=beta&from=2026-11-18T12:01:00Z')).toEqual(['gen_3'])
  expect(await list('tag=beta&limit=1&before=3')).toEqual(['gen_1'])
})

test('GET /api/requests: 400 when filters are invalid, 401 without a session', async () => {
  const { get } = await withRequests()
  for (const query of ['status=maybe', 'limit=0', 'limit=101', 'before=x', 'from=yesterday', 'key=']) {
    expect((await get(`/api/requests?${query}`)).status).toBe(400)
  }
  expect((await get('/api/requests', {})).status).toBe(401)
})

test('GET /api/requests/:generationId: 200 with every attempt of the call, for the id of any attempt', async () => {
  const { get } = await withRequests()
  const answered = await read(RequestDetail, get('/api/requests/gen_2'))
  expect(answered.tried.map(({ generationId, failure }) => [generationId, failure])).toEqual([
    ['gen_1', 'broken'],
    ['gen_2', null],
  ])
  expect(answered).toMatchObject({ answeredBy: null, bodies: null })
  const failed = await read(RequestDetail, get('/api/requests/gen_1'))
  expect(failed).toMatchObject({ succeeded: false, error: 'cut off', answeredBy: 'gen_2', tried: answered.tried })
  const single = await read(RequestDetail, get('/api/requests/gen_4'))
  expect(single.tried).toEqual([
    { generationId: 'gen_4', model: 'large', provider: 'one', latencyMs: 900, failure: null, error: null },
  ])
})

test('GET /api/requests/:generationId: 404 for a stranger and an unknown id, 401 without a session', async () => {
  const { get, eve } = await withRequests()
  expect((await get('/api/requests/gen_1', eve.cookie)).status).toBe(404)
  expect((await get('/api/requests/gen_none')).status).toBe(404)
  expect((await get('/api/requests/gen_1', {})).status).toBe(401)
})

test('DELETE /api/requests/:generationId/bodies: 200 for the owner, 404 for a stranger; stored bodies are redacted', async () => {
  const { get, web, platform, ada, eve } = await withRequests()
  const secret = `sk_${'a1'.repeat(20)}`
  const request = `{"messages":[{"content":"use ${secret} and ${'A'.repeat(2000)}"}]}`
  platform.ai.bodyLog.add({ generationId: 'gen_1', userId: ada.user.id, request, answer: 'x'.repeat(100_000) })
  const { bodies } = await read(RequestDetail, get('/api/requests/gen_1'))
  expect(bodies?.request).toBe('{"messages":[{"content":"use sk_[redacted] and [2000 characters]"}]}')
  expect(bodies).toMatchObject({ answer: '[100000 characters]', expiresAt: '2026-11-25T12:06:00.000Z' })

  const remove = (headers: Record<string, string>) =>
    web.request('/api/requests/gen_1/bodies', { method: 'DELETE', headers })
  expect((await remove(eve.cookie)).status).toBe(404)
  expect((await remove({})).status).toBe(401)
  expect(platform.db.select().from(requestBodies).all()).toHaveLength(1)
  expect(await read(DeletedBodies, remove(ada.cookie))).toEqual({ deleted: 1 })
  expect(await read(DeletedBodies, remove(ada.cookie))).toEqual({ deleted: 0 })
  expect(await read(RequestDetail, get('/api/requests/gen_1'))).toMatchObject({ bodies: null })
})

test('DELETE /api/requests/bodies: 200 deletes the bodies of the user only, 401 without a session', async () => {
  const { web, platform, ada, eve } = await withRequests()
  for (const [generationId, userId] of [
    ['gen_1', ada.user.id],
    ['gen_2', ada.user.id],
    ['gen_eve', eve.user.id],
  ] as const) {
    platform.ai.bodyLog.add({ generationId, userId, request: '{}', answer: null })
  }
  const remove = (headers: Record<string, string>) => web.request('/api/requests/bodies', { method: 'DELETE', headers })
  expect((await remove({})).status).toBe(401)
  expect(await read(DeletedBodies, remove(ada.cookie))).toEqual({ deleted: 2 })
  expect(platform.db.select().from(requestBodies).all()).toMatchObject([{ generationId: 'gen_eve' }])
})

test('a request body is stored in part when it exceeds 64 KiB', async () => {
  const { get, platform, ada } = await withRequests()
  const words = 'words '.repeat(20_000)
  platform.ai.bodyLog.add({ generationId: 'gen_1', userId: ada.user.id, request: words, answer: null })
  const { bodies } = await read(RequestDetail, get('/api/requests/gen_1'))
  expect(bodies?.request).toHaveLength(64 * 1024 + 1)
  expect(bodies?.answer).toBeNull()
})

test('the tags of a request are deleted when the old request is', async () => {
  const { platform } = await withRequests()
  await write(platform.db, (tx) => tx.delete(usageLogs).run())
  expect(platform.db.select().from(usageTags).all()).toEqual([])
})

test.each([
  [{}, 'usage_logs_by_user'],
  [{ status: 'succeeded' }, 'usage_logs_by_user'],
  [{ model: 'small' }, 'usage_logs_by_model'],
  [{ agentId: 'bo' }, 'usage_logs_by_agent'],
  [{ agentId: 'direct' }, 'usage_logs_by_user'],
  [{ keyId: 'key_1', model: 'small' }, 'usage_logs_by_key'],
  [{ endUser: 'mia', keyId: 'key_1' }, 'usage_logs_by_end_user'],
  [{ status: 'failed', model: 'small' }, 'usage_logs_failed'],
  [{ tag: 'beta', status: 'failed' }, 'usage_tags_by_tag'],
] satisfies [CallFilters, string][])(
  'the query of requests by %j reads only the index %s, without sorting',
  async (filters, index) => {
    const { platform, ada } = await withRequests()
    const range = { from: new Date('2026-11-01'), to: new Date('2026-12-01'), before: 4 }
    for (const all of [filters, { ...filters, ...range }]) {
      const { sql, params } = selectSearched(platform.db, ada.user.id, all).limit(10).toSQL()
      const plan = platform.connection.sqlite.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params)
      const steps = z
        .array(z.object({ detail: z.string() }))
        .parse(plan)
        .map(({ detail }) => detail)
      expect(steps[0]).toMatch(new RegExp(`USING (COVERING )?INDEX ${index} `))
      expect(steps.filter((step) => step.includes('SCAN') || step.includes('TEMP B-TREE'))).toEqual([])
    }
  },
)
