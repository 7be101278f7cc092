import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { readAllEvents } from '../../../../tests/harness/wires/events.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import type { CreateKeyRequest } from '../../accounts/keys/schemas.ts'
import { usageEndUserMonths } from '../usage/tables.ts'
import { attributionOf, parseTags } from './attribution.ts'
import { RequestDetail, RequestList } from './schemas.ts'

const OPENAI = '/v1/chat/completions'
const MINI = 'openai/gpt-4o-mini'
const BIG = 'openai/gpt-4o'
/** The provider counts 1000 tokens in and 500 out: $0.00045 at this model's price. */
const HELLO = { model: MINI, messages: [{ role: 'user', content: 'Hi, I am mia@example.com' }], max_tokens: 500 }

/** A key of Ada's. */
async function withKey(request: Partial<CreateKeyRequest> = {}) {
  const test = await aiPlatform()
  const { user, cookie } = await test.signIn('ada@example.com', 'network')
  const { platform, clock } = test
  const { key, row } = await createKey({ db: platform.db, clock }, user.id, { name: 'app', ...request })
  const get = (path: string) => test.web.request(path, { headers: cookie })
  const say = (body: object = HELLO, headers: Record<string, string> = {}) =>
    test.ask(OPENAI, { ...HELLO, ...body }, { ...bearer(key), ...headers })
  const detailOf = (response: Response) =>
    read(RequestDetail, get(`/api/requests/${response.headers.get('x-generation-id')}`))
  return { ...test, cookie, key, keyId: row.id, get, say, detailOf }
}

test('POST /v1/chat/completions: 200 and the request log has end user, tags and price source', async () => {
  await using test = await withKey()
  const named = await test.say({ user: 'mia', metadata: { team: 'a' } }, { 'x-stead-tags': 'beta, nightly,beta' })
  expect(await test.detailOf(named)).toMatchObject({
    ...{ endUser: 'mia', tags: ['beta', 'nightly', 'team=a'], keyId: test.keyId, endpoint: OPENAI },
    ...{ priceSource: 'list', costUsd: 0.00045, finishReason: 'stop', firstTokenMs: null, bodies: null },
    tried: [{ model: MINI, failure: null }],
  })
  await test.say()
  const tagged = await read(RequestList, test.get('/api/requests?tag=team%3Da&endUser=mia'))
  expect(tagged.requests.map(({ generationId }) => generationId)).toEqual([named.headers.get('x-generation-id')])
})

test('POST /v1/chat/completions: 400 when tags are too many or too long, and nothing is recorded', async () => {
  await using test = await withKey()
  for (const tags of ['a,b,c,d,e,f,g,h,i,j,k', 'x'.repeat(65)]) {
    expect((await test.say({}, { 'x-stead-tags': tags })).status).toBe(400)
  }
  expect((await read(RequestList, test.get('/api/requests'))).requests).toEqual([])
})

test('POST /v1/chat/completions: 200 and the request log has the time to the first chunk of a stream', async () => {
  await using test = await withKey({ logBodies: true })
  const response = await test.say({ stream: true })
  await readAllEvents(response)
  const { firstTokenMs, latencyMs, finishReason, bodies } = await test.detailOf(response)
  expect(firstTokenMs).toBeGreaterThanOrEqual(0)
  expect(latencyMs).toBeGreaterThanOrEqual(firstTokenMs ?? 0)
  expect(finishReason).toBe('stop')
  expect(bodies?.answer?.length).toBeGreaterThan(0)
})

test('POST /v1/chat/completions: 200 and the request log has failed and answering attempts', async () => {
  await using test = await withKey()
  test.provider.answerWith(({ body }) => (body.model === BIG ? { fault: { status: 500 } } : {}))
  const refused = await test.detailOf(await test.say({ model: BIG, fallbacks: [MINI] }))
  expect(refused).toMatchObject({ model: MINI, attempts: 2, succeeded: true })
  expect(refused.tried).toMatchObject([
    { generationId: null, model: BIG, failure: 'broken', error: expect.any(String) },
    { generationId: refused.generationId, model: MINI, failure: null, error: null },
  ])
  test.provider.answerWith(({ body }) => (body.model === BIG ? { fault: 'malformed-json' } : {}))
  const spent = await test.detailOf(await test.say({ model: BIG, fallbacks: [MINI] }))
  const [first] = spent.tried
  await test.platform.usage.settle()
  expect(first).toMatchObject({ model: BIG, failure: 'broken' })
  expect(first?.generationId).toStartWith('gen_')
  const earlier = await read(RequestDetail, test.get(`/api/requests/${first?.generationId}`))
  expect(earlier).toMatchObject({ succeeded: false, answeredBy: spent.generationId, tried: spent.tried })
})

test('POST /v1/chat/completions: 200 and the request log names a model that was skipped after failures', async () => {
  await using test = await withKey()
  test.provider.answerWith(({ body }) => (body.model === BIG ? { fault: { status: 500 } } : {}))
  for (let call = 0; call < 3; call++) await test.say({ model: BIG, fallbacks: [MINI] })
  const skipped = await test.detailOf(await test.say({ model: BIG, fallbacks: [MINI] }))
  expect(skipped).toMatchObject({ model: MINI, attempts: 1 })
  expect(skipped.tried).toMatchObject([
    { model: BIG, failure: 'cooldown' },
    { model: MINI, failure: null },
  ])
})

test('POST /v1/chat/completions: 200 and bodies are stored, redacted, only when the key has logBodies', async () => {
  await using test = await withKey({ logBodies: true })
  const { bodies } = await test.detailOf(await test.say())
  expect(bodies?.request).toContain('"content":"Hi, I am [email]"')
  expect(bodies?.answer).toContain('"choices"')
  await test.web.request(`/api/keys/${test.keyId}`, json('PATCH', { logBodies: false }, test.cookie))
  expect(await test.detailOf(await test.say())).toMatchObject({ bodies: null })
})

test('POST /v1/chat/completions: 200 and bodies of an agent are stored when its owner enables logBodies', async () => {
  await using test = await aiPlatform()
  const { cookie, agentToken, agentId } = await test.join()
  const detail = async () => {
    const response = await test.ask(OPENAI, HELLO, bearer(agentToken))
    const path = `/api/requests/${response.headers.get('x-generation-id')}`
    return read(RequestDetail, test.web.request(path, { headers: cookie }))
  }
  expect(await detail()).toMatchObject({ agentId, bodies: null })
  await test.web.request(`/api/agents/${agentId}`, json('PATCH', { logBodies: true }, cookie))
  expect((await detail()).bodies?.request).toContain('Hi, I am')
})

test('a key with a budget per end user: 429 END_USER_QUOTA_EXCEEDED for one until the month ends, 200 for another', async () => {
  await using test = await withKey({ endUserBudgetUsd: 0.01 })
  test.clock.set(new Date('2100-03-31T23:59:00Z'))
  let response = await test.say({ user: 'mia' })
  let answered = 0
  for (; response.status === 200; response = await test.say({ user: 'mia' })) answered += 1
  expect(answered).toBe(22)
  expect(response.status).toBe(429)
  expect(await response.json()).toMatchObject({ error: { code: 'END_USER_QUOTA_EXCEEDED' } })
  expect((await test.say({ user: 'kim' })).status).toBe(200)
  expect((await test.say({ metadata: { user_id: 'mia' } })).status).toBe(429)
  expect((await test.say()).status).toBe(200)
  test.clock.advance(60_000)
  expect((await test.say({ user: 'mia' })).status).toBe(200)
})

test('a key with a budget per end user: the budget is never exceeded by 100 concurrent calls, and is kept by a rotation', async () => {
  await using test = await withKey({ endUserBudgetUsd: 0.01 })
  test.provider.answerWith({ usage: { prompt_tokens: 20, completion_tokens: 500 } })
  const calls = await Promise.all(Array.from({ length: 100 }, () => test.say({ user: 'mia' })))
  const answered = calls.filter(({ status }) => status === 200).length
  expect(answered).toBeGreaterThan(0)
  expect(calls.filter(({ status }) => status === 429)).toHaveLength(100 - answered)
  await test.platform.usage.flush()
  const [month] = test.platform.db.select().from(usageEndUserMonths).all()
  expect(month).toMatchObject({ keyId: test.keyId, endUser: 'mia', calls: answered })
  expect(month?.costMicroUsd).toBeLessThanOrEqual(10_000)
  const path = `/api/keys/${test.keyId}/rotate`
  expect((await test.web.request(path, json('POST', {}, test.cookie))).status).toBe(201)
  const copies = test.platform.db.select().from(usageEndUserMonths).all()
  expect(copies.map(({ costMicroUsd }) => costMicroUsd)).toEqual([month?.costMicroUsd ?? 0, month?.costMicroUsd ?? 0])
})

test('a key with a budget per end user: 403 for a model without a known price', async () => {
  await using test = await withKey({ endUserBudgetUsd: 1 })
  await test.platform.catalogue.refresh(new AbortController().signal)
  expect((await test.say({ model: 'unknown/nobody-knows-its-price' })).status).toBe(403)
})

test('attributionOf reads the user, then the identifier, then the metadata, and shortens long values', () => {
  const long = 'x'.repeat(1000)
  expect(attributionOf({ user: 'a', safety_identifier: 'b' }, undefined)).toEqual({ endUser: 'a', tags: null })
  expect(attributionOf({ safety_identifier: 'b', metadata: { user_id: 'c' } }, undefined)).toEqual({
    endUser: 'b',
    tags: null,
  })
  expect(attributionOf({ metadata: { user_id: long, n: 1, k: long } }, ['t'])).toEqual({
    endUser: long.slice(0, 256),
    tags: ['t', `k=${long}`.slice(0, 200)],
  })
  expect(attributionOf({ user: '', metadata: null }, [])).toEqual({ endUser: null, tags: null })
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, 'v']))
  expect(attributionOf({ metadata: many }, undefined).tags).toHaveLength(16)
})

test('parseTags splits at commas and drops empty tags', () => {
  expect(parseTags(' a, b,,c ')).toEqual(['a', 'b', 'c'])
  expect(() => parseTags(','.repeat(100_000))).not.toThrow()
})
