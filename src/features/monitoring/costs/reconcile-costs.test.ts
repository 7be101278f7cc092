import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { Reconciliation } from './schemas.ts'

const PATH = '/v1/chat/completions'
const MINI = 'openai/gpt-4o-mini'
const USAGE = { prompt_tokens: 1000, completion_tokens: 500 }

test('GET /api/usage/reconciliation: 200 with reported and list costs by model, largest gap first', async () => {
  await using test = await aiPlatform()
  const { key, cookie } = await test.join('network')
  const say = (model: string, cost?: number) => {
    test.provider.answerWith({ usage: { ...USAGE, ...(cost !== undefined && { cost }) } })
    return test.ask(PATH, { model, messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
  }
  // 1000 tokens in and 500 out cost $0.00045 and $0.0075 by list prices.
  await say(MINI, 0.0005)
  await say(MINI, 0.0005)
  await say('openai/gpt-4o', 0.007)
  await say(MINI)
  const get = (headers: Record<string, string>) => test.web.request('/api/usage/reconciliation?days=7', { headers })
  expect(await read(Reconciliation, get(cookie))).toEqual({
    total: { calls: 3, reportedUsd: 0.008, listUsd: 0.0084, gapUsd: -0.0004 },
    models: [
      {
        model: 'openai/gpt-4o',
        provider: 'openrouter',
        calls: 1,
        reportedUsd: 0.007,
        listUsd: 0.0075,
        gapUsd: -0.0005,
      },
      { model: MINI, provider: 'openrouter', calls: 2, reportedUsd: 0.001, listUsd: 0.0009, gapUsd: 0.0001 },
    ],
  })
  const stranger = await test.join('network', 'eve@example.com')
  expect(await read(Reconciliation, get(stranger.cookie))).toMatchObject({ total: { calls: 0 }, models: [] })
  expect((await test.web.request('/api/usage/reconciliation')).status).toBe(401)
})

test('GET /api/usage/reconciliation: 200 without prices that an administrator set', async () => {
  await using test = await aiPlatform({ environment: { ADMIN_EMAILS: 'ada@example.com' } })
  const { key, cookie } = await test.join('network')
  const price = { inputUsdPerMillion: 1, outputUsdPerMillion: 1 }
  const set = await test.web.request(`/api/admin/prices/${MINI}`, json('PUT', price, cookie))
  expect(set.status).toBe(200)
  test.provider.answerWith({ usage: { ...USAGE, cost: 0.5 } })
  await test.ask(PATH, { model: MINI, messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
  const path = '/api/usage/reconciliation'
  expect(await read(Reconciliation, test.web.request(path, { headers: cookie }))).toMatchObject({ models: [] })
})
