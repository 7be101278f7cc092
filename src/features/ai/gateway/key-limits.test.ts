import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { INTERNAL_KEY } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { type CreateKeyRequest, RotatedKey } from '../../accounts/keys/schemas.ts'
import type { PlanName } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { MyUsage } from './schemas.ts'

const OpenAiModels = z.object({ data: z.array(z.object({ id: z.string() })) })
const OPENAI = '/v1/chat/completions'
const MINI = 'openai/gpt-4o-mini'
const BIG = 'openai/gpt-4o'
/** The provider counts 1000 tokens in and 500 out: $0.00045 at this model's price. */
const HELLO = { model: MINI, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 500 }

/** A key of Ada's with these limits. */
async function limited(limits: Partial<CreateKeyRequest>, plan: PlanName = 'network') {
  const test = await aiPlatform()
  const { user } = await test.signIn('ada@example.com', plan)
  const { platform, clock } = test
  const { key, row } = await createKey({ db: platform.db, clock }, user.id, { name: 'agent', ...limits })
  return {
    ...test,
    user,
    key,
    keyId: row.id,
    say: (body: object = HELLO) => test.ask(OPENAI, body, bearer(key)),
    usage: () => read(MyUsage, test.backend.request('/api/me/usage', { headers: bearer(key) })),
  }
}

test('a key with a budget: 429 when a call could exceed it, until the month ends', async () => {
  await using test = await limited({ monthlyBudgetUsd: 0.01 })
  test.clock.set(new Date('2100-03-31T23:59:00Z'))
  let answered = 0
  let refused: Response | undefined
  for (let call = 0; call < 40 && !refused; call++) {
    const response = await test.say()
    if (response.status === 200) answered += 1
    else refused = response
  }
  expect(answered).toBe(22)
  expect(refused?.status).toBe(429)
  expect(await refused?.json()).toEqual({
    error: {
      message: 'Monthly limit of this key exceeded. Used $0.0099 of $0.01. It resets at the start of next month.',
      type: 'rate_limit_error',
      code: 'KEY_QUOTA_EXCEEDED',
      param: null,
    },
  })
  test.clock.advance(60_000)
  expect((await test.say()).status).toBe(200)
})

test('a key with a budget increase: 200 beyond the budget until the increase ends, then 429', async () => {
  const until = '2100-03-20T00:00:00.000Z'
  await using test = await limited({ monthlyBudgetUsd: 0.01, budgetIncrease: { usd: 1, until } })
  test.clock.set(new Date('2100-03-19T23:00:00Z'))
  for (let call = 0; call < 25; call++) expect((await test.say()).status).toBe(200)
  expect((await test.usage()).key?.costUsd).toMatchObject({ limit: 1.01 })
  test.clock.set(new Date(until))
  expect((await test.say()).status).toBe(429)
  expect((await test.usage()).key?.costUsd).toMatchObject({ limit: 0.01, remaining: 0 })
})

test('a key with a token limit: the limit is never exceeded by 200 concurrent calls', async () => {
  await using test = await limited({ monthlyTokens: 20_000 })
  test.provider.answerWith({ usage: { prompt_tokens: 20, completion_tokens: 500 } })
  const responses = await Promise.all(Array.from({ length: 200 }, () => test.say()))
  const answered = responses.filter(({ status }) => status === 200).length
  expect(answered).toBeGreaterThan(0)
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(200 - answered)
  expect((await test.usage()).key?.tokens.used).toBeLessThanOrEqual(20_000)
})

test('a key near its limit: 200 with a maximum for an answer that has none', async () => {
  await using test = await limited({ monthlyTokens: 20_000 })
  expect((await test.say({ model: MINI, messages: HELLO.messages })).status).toBe(200)
  expect(test.provider.chats[0]?.body).toMatchObject({ max_tokens: 4096 })
  await using free = await limited({})
  await free.say({ model: MINI, messages: HELLO.messages })
  expect(free.provider.chats[0]?.body).not.toHaveProperty('max_tokens')
})

test('a key with a list of models: 403 for other models, by name, as a fallback and as the choice of a tier', async () => {
  await using test = await limited({ models: [MINI] })
  for (const body of [
    { ...HELLO, model: BIG },
    { ...HELLO, fallbacks: [BIG] },
  ]) {
    const response = await test.say(body)
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ error: { code: 'MODEL_RESTRICTED' } })
  }
  expect((await test.say({ ...HELLO, model: 'reasoning' })).headers.get('x-model')).toBe(MINI)
  const listed = await read(OpenAiModels, test.backend.request('/v1/models', { headers: bearer(test.key) }))
  expect(listed.data.map(({ id }) => id)).toEqual([MINI])
})

test('a key with a budget: 403 for a model without a known price', async () => {
  await using test = await limited({ monthlyBudgetUsd: 1 })
  await test.platform.catalogue.refresh(new AbortController().signal)
  const unknown = { ...HELLO, model: 'unknown/nobody-knows-its-price' }
  expect((await test.say(unknown)).status).toBe(403)
  await using free = await limited({})
  await free.platform.catalogue.refresh(new AbortController().signal)
  expect((await free.say(unknown)).status).toBe(200)
})

test('a key with its own rate: 429 when it exceeds the rate', async () => {
  await using test = await limited({ requestsPerMinute: 2 })
  expect((await test.say()).status).toBe(200)
  expect((await test.say()).status).toBe(200)
  const response = await test.say()
  expect(response.status).toBe(429)
  expect(response.headers.get('ratelimit-limit')).toBe('2')
})

test('GET /api/me/usage: 200 with the key’s usage, remaining budget and reset time', async () => {
  await using test = await limited({ monthlyBudgetUsd: 1, monthlyTokens: 10_000, models: [MINI] }, 'solo')
  test.clock.set(new Date('2100-02-10T12:00:00Z'))
  await test.say()
  await test.say()
  expect(await test.usage()).toEqual({
    windowStart: '2100-02-01T00:00:00.000Z',
    windowEnd: '2100-03-01T00:00:00.000Z',
    plan: 'solo',
    tokens: { used: 3000, limit: 2_000_000, remaining: 1_997_000 },
    key: {
      id: test.keyId,
      calls: 2,
      tokens: { used: 3000, limit: 10_000, remaining: 7000 },
      costUsd: { used: 0.0009, limit: 1, remaining: 0.9991 },
      requestsPerMinute: null,
      models: [MINI],
    },
    agent: null,
    byModel: [{ model: MINI, calls: 2, tokens: 3000, costUsd: 0.0009, estimatedTokens: 0 }],
  })
})

test('GET /api/me/usage: 401 without credentials on both APIs, 200 with the user’s usage for a session on the web API', async () => {
  await using test = await limited({})
  for (const api of [test.web, test.backend]) expect((await api.request('/api/me/usage')).status).toBe(401)
  await test.say()
  const { cookie } = await test.signIn('eve@example.com', 'solo')
  const eve = await read(MyUsage, test.web.request('/api/me/usage', { headers: cookie }))
  expect(eve).toMatchObject({ plan: 'solo', tokens: { used: 0 }, key: null, byModel: [] })
  const ada = await read(MyUsage, test.web.request('/api/me/usage', { headers: bearer(test.key) }))
  expect(ada).toMatchObject({ key: { id: test.keyId, calls: 1 } })
})

test('GET /api/me/usage and /api/models: 200 with the remaining budget and allowed models of a limited key, on both APIs', async () => {
  await using test = await limited({ monthlyTokens: 10_000, models: [MINI] }, 'solo')
  await test.say()
  const headers = bearer(test.key)
  for (const api of [test.web, test.backend])
    expect((await read(MyUsage, api.request('/api/me/usage', { headers }))).key).toMatchObject({
      id: test.keyId,
      tokens: { used: 1500, limit: 10_000, remaining: 8500 },
      models: [MINI],
    })
  expect((await test.web.request('/api/models', { headers })).status).toBe(200)
  expect((await test.web.request('/api/agents', { headers })).status).toBe(403)
})

test('GET /api/me/usage: 200 with the agent’s own usage and the owner’s plan', async () => {
  await using test = await aiPlatform()
  const { agentId, agentToken, key } = await test.join('solo')
  await test.ask(OPENAI, HELLO, bearer(agentToken))
  await test.ask(OPENAI, { ...HELLO, model: BIG }, bearer(key))
  const usage = await read(MyUsage, test.backend.request('/api/me/usage', { headers: bearer(agentToken) }))
  expect(usage).toMatchObject({
    plan: 'solo',
    tokens: { used: 3000, limit: 2_000_000 },
    key: null,
    agent: { id: agentId, calls: 1, tokens: 1500, costUsd: 0.00045 },
    byModel: [{ model: MINI, calls: 1, tokens: 1500, costUsd: 0.00045 }],
  })
})

test('GET /api/me/usage: 200 with a limit of zero when no plan is active, on both APIs', async () => {
  await using test = await aiPlatform()
  const poor = await test.join(null)
  const lapsed = await test.join('solo', 'eve@example.com')
  await write(test.platform.db, (tx) =>
    tx.update(users).set({ subscriptionStatus: 'canceled' }).where(eq(users.id, lapsed.user.id)).run(),
  )
  for (const { key, agentToken } of [poor, lapsed]) {
    const answers = await Promise.all([
      test.backend.request('/api/me/usage', { headers: bearer(key) }),
      test.backend.request('/api/me/usage', { headers: bearer(agentToken) }),
      test.web.request('/api/me/usage', { headers: bearer(key) }),
    ])
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      expect(await read(MyUsage, answer)).toMatchObject({ plan: 'free', tokens: { used: 0, limit: 0, remaining: 0 } })
    }
  }
})

test('GET /api/me/usage: 200 with the plan of the user that the internal key names', async () => {
  await using test = await aiPlatform()
  const { user } = await test.join('label')
  const headers = { ...bearer(INTERNAL_KEY), 'x-user-id': user.id }
  const usage = await read(MyUsage, test.backend.request('/api/me/usage', { headers }))
  expect(usage).toMatchObject({ plan: 'label', tokens: { limit: 20_000_000 } })
})

test('POST /api/keys/:id/rotate: the new key keeps limits and usage', async () => {
  await using test = await limited({ monthlyTokens: 10_000 })
  await test.say()
  await test.platform.usage.flush()
  const session = await test.platform.sessions.create(test.user.id)
  const rotate = json('POST', {}, { cookie: `service-session=${session}` })
  const rotated = await read(RotatedKey, test.web.request(`/api/keys/${test.keyId}/rotate`, rotate))
  const usage = await read(MyUsage, test.backend.request('/api/me/usage', { headers: bearer(rotated.key) }))
  expect(usage.key).toMatchObject({ id: rotated.id, tokens: { used: 1500, limit: 10_000 } })
})

test.each([
  [{ monthlyBudgetUsd: 0 }, 'monthlyBudgetUsd must be a number of at least 0.01'],
  [{ monthlyTokens: 1.5 }, 'monthlyTokens must be a whole number of at least 1'],
  [{ models: [] }, 'models must be a list of 1 to 100 model ids'],
  [{ requestsPerMinute: 0 }, 'requestsPerMinute must be a whole number of at least 1'],
])('POST and PATCH /api/keys: 400 when the body is %j', async (limits, error) => {
  await using test = await limited({})
  const session = await test.platform.sessions.create(test.user.id)
  const headers = { cookie: `service-session=${session}` }
  const made = await test.web.request('/api/keys', json('POST', { name: 'x', ...limits }, headers))
  const changed = await test.web.request(`/api/keys/${test.keyId}`, json('PATCH', limits, headers))
  for (const response of [made, changed]) {
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error })
  }
})

test('PATCH /api/keys/:id: 200; a new limit applies to the next call, null removes it', async () => {
  await using test = await limited({})
  const session = await test.platform.sessions.create(test.user.id)
  const change = (body: object) =>
    test.web.request(`/api/keys/${test.keyId}`, json('PATCH', body, { cookie: `service-session=${session}` }))
  const changed = await change({ models: [BIG] })
  expect(changed.status).toBe(200)
  expect(await changed.json()).toMatchObject({ limits: { models: [BIG], monthlyTokens: null } })
  expect((await test.say()).status).toBe(403)
  await change({ models: null })
  expect((await test.say()).status).toBe(200)
})

test.each([
  ['agt_wrong', '/v1/tools', 401],
  ['sk_wrong', '/v1/models', 401],
  ['wrong', '/v1/models', 401],
])('GET /v1/*: 429 after 60 requests with the bearer %s from one /64 network', async (token, path, status) => {
  const { api, agent } = await agentOwner()
  const from = (address: string, headers: Record<string, string>) =>
    api('backend', { address }).request(path, { headers })
  const statuses: number[] = []
  for (let index = 0; index <= 60; index++) {
    statuses.push((await from(`2001:db8:1:2::${index.toString(16)}`, bearer(`${token}${index}`))).status)
  }
  expect(statuses.slice(0, 60)).toEqual(Array(60).fill(status))
  expect(statuses[60]).toBe(429)

  const limited = await from('2001:db8:1:2::1', bearer(token))
  expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true])
  // Agents of the same machine go on, and so do callers from elsewhere.
  const good = path === '/v1/tools' ? agent.headers : bearer(INTERNAL_KEY)
  expect((await from('2001:db8:1:2::1', good)).status).not.toBe(429)
  expect((await from('2001:db8:1:3::1', bearer(token))).status).toBe(status)
})
