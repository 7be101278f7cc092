import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { KeyReport, MyUsage } from '../gateway/schemas.ts'
import { CallList, CostDashboard, UsageByDay } from '../usage/schemas.ts'
import { ModelPriceList } from './schemas.ts'

const OPENAI = '/v1/chat/completions'
const UNPRICED = 'unknown/nobody-knows-its-price'
const HI = [{ role: 'user', content: 'Hi' }]

/** A platform whose aggregator lists a model without a price, with an administrator who has the plan network. */
async function pricing() {
  const test = await aiPlatform({ environment: { ADMIN_EMAILS: 'ada@example.com' } })
  await test.platform.catalogue.refresh(new AbortController().signal)
  const ada = await test.join('network')
  return {
    ...test,
    ada,
    say: (model: string, key = ada.key) => test.ask(OPENAI, { model, messages: HI }, bearer(key)),
    get: (path: string) => test.web.request(path, { headers: ada.cookie }),
    send: (method: 'PUT' | 'DELETE', model: string, body?: unknown) =>
      test.web.request(`/api/admin/prices/${model}`, json(method, body, ada.cookie)),
    keyOf: async (settings: object) => {
      const deps = { db: test.platform.db, clock: test.clock }
      return (await createKey(deps, ada.user.id, { name: 'x', ...settings })).key
    },
  }
}

test('POST /v1/chat/completions: 200 without x-cost-usd when the model has no price, and its cost is null everywhere', async () => {
  await using test = await pricing()
  const response = await test.say(UNPRICED)
  expect(response.status).toBe(200)
  expect(response.headers.get('x-cost-usd')).toBeNull()
  const { calls } = await read(CallList, test.get('/api/usage/calls'))
  expect(calls).toMatchObject([{ model: UNPRICED, costUsd: null, inputTokens: 1000 }])
  const unknown = { costUsd: null, unpricedCalls: 1 }
  const { rows } = await read(UsageByDay, test.get('/api/usage/by-day'))
  expect(rows).toMatchObject([unknown])
  const { summary, agents, daily, modelBreakdown } = await read(CostDashboard, test.get('/api/dashboard/cost'))
  expect(summary).toMatchObject({ totalCost: null, avgCostPerCall: null, unpricedCalls: 1, totalCalls: 1 })
  expect([agents[0]?.cost, daily.at(-1)?.cost, modelBreakdown[0]?.cost]).toEqual([null, null, null])
  expect((await read(MyUsage, test.get('/api/me/usage'))).byModel).toMatchObject([unknown])
  expect(await (await test.get('/api/usage/export')).text()).toContain(',1000,500,,/v1/chat/completions,')
  const headers = { ...bearer(test.ada.key) }
  expect((await test.web.request('/api/me/usage', { headers })).status).toBe(200)
  expect(test.logLines.join('')).toContain('tokens | $unknown')
})

test('GET /api/dashboard/cost: 200 with the sum of known costs and the number of calls without one', async () => {
  await using test = await pricing()
  await test.say('openai/gpt-4o-mini')
  await test.say(UNPRICED)
  await test.say(UNPRICED)
  const { summary } = await read(CostDashboard, test.get('/api/dashboard/cost'))
  expect(summary).toMatchObject({ totalCost: 0.00045, avgCostPerCall: 0.00045, totalCalls: 3, unpricedCalls: 2 })
  const { keys } = (await (await test.get('/api/keys')).json()) as { keys: { id: string }[] }
  const report = await read(KeyReport, test.get(`/api/keys/${keys[0]?.id}/usage`))
  expect(report.month).toMatchObject({ calls: 3, costUsd: { used: 0.00045 }, unpricedCalls: 2 })
})

test('GET /api/dashboard/cost: 200 with cost 0 when a call failed without usage', async () => {
  await using test = await pricing()
  test.provider.answerWith({ fault: { status: 500 } })
  await test.say(UNPRICED)
  expect((await read(CallList, test.get('/api/usage/calls'))).calls).toMatchObject([{ costUsd: 0, succeeded: false }])
})

test('POST /v1/chat/completions: 403 when the model has no price and the key a budget, until a price is set', async () => {
  await using test = await pricing()
  const key = await test.keyOf({ monthlyBudgetUsd: 1 })
  const refused = await test.say(UNPRICED, key)
  expect(refused.status).toBe(403)
  expect(await refused.json()).toMatchObject({
    error: { code: 'MODEL_RESTRICTED', message: expect.stringContaining('no known price') },
  })
  expect((await test.send('PUT', UNPRICED, { inputUsdPerMillion: 1, outputUsdPerMillion: 2 })).status).toBe(200)
  const answered = await test.say(UNPRICED, key)
  expect([answered.status, answered.headers.get('x-cost-usd')]).toEqual([200, '0.002000'])
})

test('PUT and DELETE /api/admin/prices/:model: 200, effective at once, before the list price and the provider’s report', async () => {
  await using test = await pricing()
  const price = { inputUsdPerMillion: 10, outputUsdPerMillion: 20, cachedInputUsdPerMillion: 1 }
  const set = await test.send('PUT', 'openai%2Fgpt-4o-mini', price)
  expect([set.status, await set.json()]).toEqual([
    200,
    { model: 'openai/gpt-4o-mini', ...price, updatedAt: test.clock.now().toISOString() },
  ])
  test.provider.answerWith({
    usage: { prompt_tokens: 1000, completion_tokens: 500, prompt_tokens_details: { cached_tokens: 400 }, cost: 7 },
  })
  expect((await test.say('openai/gpt-4o-mini')).headers.get('x-cost-usd')).toBe('0.016400')
  const listed = await read(ModelPriceList, test.get('/api/admin/prices'))
  expect(listed.prices).toMatchObject([{ model: 'openai/gpt-4o-mini', ...price }])
  expect(listed.unpriced).toEqual([{ model: UNPRICED, provider: 'openrouter' }])
  const deleted = await test.send('DELETE', 'openai/gpt-4o-mini')
  expect([deleted.status, await deleted.json()]).toEqual([200, { model: 'openai/gpt-4o-mini', deleted: true }])
  expect((await test.say('openai/gpt-4o-mini')).headers.get('x-cost-usd')).toBe('7.000000')
  expect((await test.send('DELETE', 'openai/gpt-4o-mini')).status).toBe(404)
  expect(test.platform.db.select().from(auditLog).all()).toMatchObject([
    { action: 'prices.set', target: 'openai/gpt-4o-mini' },
    { action: 'prices.deleted', target: 'openai/gpt-4o-mini' },
  ])
})

test('PUT /api/admin/prices/:model: 200 with 0 and 0 makes a model free', async () => {
  await using test = await pricing()
  const free = { inputUsdPerMillion: 0, outputUsdPerMillion: 0 }
  expect((await test.send('PUT', UNPRICED, free)).status).toBe(200)
  expect((await test.say(UNPRICED)).headers.get('x-cost-usd')).toBe('0.000000')
  expect((await read(CallList, test.get('/api/usage/calls'))).calls).toMatchObject([{ costUsd: 0 }])
})

test('PUT /api/admin/prices/:model: 400 when the price is invalid, 403 for other users', async () => {
  await using test = await pricing()
  for (const body of [
    {},
    { inputUsdPerMillion: 1 },
    { inputUsdPerMillion: -1, outputUsdPerMillion: 1 },
    { inputUsdPerMillion: '1', outputUsdPerMillion: 1 },
    { inputUsdPerMillion: 1, outputUsdPerMillion: 2e6 },
  ]) {
    expect((await test.send('PUT', UNPRICED, body)).status).toBe(400)
  }
  expect((await test.send('PUT', 'x'.repeat(201), { inputUsdPerMillion: 1, outputUsdPerMillion: 1 })).status).toBe(400)
  const bo = await test.signIn('bo@example.com')
  expect((await test.web.request('/api/admin/prices', { headers: bo.cookie })).status).toBe(403)
})
