import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, read } from '../../../../tests/harness/requests.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { KeyReport } from './schemas.ts'

const ASKED = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }

test('GET /api/keys/:id/usage: 200 with this month, limits and each day by model; 400, 401, and 404 for a stranger', async () => {
  await using test = await aiPlatform()
  const { user, cookie } = await test.join('solo')
  const eve = await test.join('solo', 'eve@example.com')
  const { row, key } = await createKey({ db: test.platform.db, clock: test.clock }, user.id, {
    name: 'Deploy',
    monthlyBudgetUsd: 1,
    monthlyTokens: 10_000,
    models: ['openai/gpt-4o-mini'],
  })
  for (const path of ['/v1/chat/completions', '/api/ai/chat'] as const) await test.ask(path, ASKED, bearer(key))
  await test.platform.usage.settle()
  const get = (query = '', headers: Record<string, string> = cookie) =>
    test.web.request(`/api/keys/${row.id}/usage${query}`, { headers })
  const report = await read(KeyReport, get())
  expect(report.month).toEqual({
    id: row.id,
    calls: 2,
    tokens: { used: 3000, limit: 10_000, remaining: 7000 },
    costUsd: { used: 0.0009, limit: 1, remaining: 0.9991 },
    requestsPerMinute: null,
    models: ['openai/gpt-4o-mini'],
  })
  const today = test.clock.now().toISOString().slice(0, 10)
  expect([report.days.length, report.days.at(-1)]).toEqual([30, today])
  expect(report.rows).toEqual([{ day: today, model: ASKED.model, calls: 2, tokens: 3000, costUsd: 0.0009 }])
  expect((await get('?days=0')).status).toBe(400)
  expect((await get('', {})).status).toBe(401)
  expect((await get('', bearer(key))).status).toBe(401)
  expect((await get('', eve.cookie)).status).toBe(404)
})
