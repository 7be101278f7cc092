import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { CallList, UsageByDay } from './schemas.ts'
import { usageDays, usageKeyDays, usageLogs } from './tables.ts'

/** Ada with six calls of two agents and two models, the newest first failed, and Eve with one. */
async function withCalls() {
  const test = testPlatform()
  test.clock.set(new Date('2026-11-18T12:00:00Z'))
  const ada = await test.signIn('ada@example.com', 'solo')
  const eve = await test.signIn('eve@example.com')
  await write(test.platform.db, (tx) => {
    for (let ago = 0; ago < 6; ago += 1) {
      tx.insert(usageLogs)
        .values({
          userId: ada.user.id,
          agentId: ago % 2 ? 'bo' : 'direct',
          model: ago < 3 ? 'small' : 'large',
          inputTokens: 10,
          outputTokens: 5,
          costMicroUsd: 1500,
          success: ago !== 0,
          errorMessage: ago === 0 ? 'no' : null,
          createdAt: new Date(test.clock.now().getTime() - ago * 1000),
          attempts: 2,
          generationId: `gen_${ago}`,
          estimated: ago === 5,
        })
        .run()
    }
    const used = { inputTokens: 10, outputTokens: 5, costMicroUsd: 1500, calls: 2, model: 'small' }
    tx.insert(usageDays)
      .values([
        { ...used, userId: ada.user.id, day: '2026-11-18', agentId: 'bo', provider: 'one' },
        { ...used, userId: ada.user.id, day: '2026-11-18', agentId: 'bo', provider: 'two' },
        { ...used, userId: ada.user.id, day: '2026-11-10', agentId: 'bo' },
        { ...used, userId: eve.user.id, day: '2026-11-18', agentId: 'eve' },
      ])
      .run()
    tx.insert(usageLogs)
      .values({ userId: eve.user.id, agentId: 'eve', model: 'small', createdAt: test.clock.now() })
      .run()
  })
  const get = (path: string, headers: Record<string, string> = ada.cookie) => test.web.request(path, { headers })
  return { get, eve }
}

test('GET /api/usage/calls: 200 with the user’s calls, newest first, page by page, with all known fields', async () => {
  const { get, eve } = await withCalls()
  const first = await read(CallList, get('/api/usage/calls?limit=4'))
  expect(first.calls[0]).toMatchObject({
    at: '2026-11-18T12:00:00.000Z',
    agentId: 'direct',
    model: 'small',
    inputTokens: 10,
    outputTokens: 5,
    costUsd: 0.0015,
    succeeded: false,
    error: 'no',
    attempts: 2,
  })
  const named = await read(CallList, get('/api/usage/calls?generationId=gen_3'))
  expect(named.calls.map(({ generationId, agentId }) => [generationId, agentId])).toEqual([['gen_3', 'bo']])
  expect((await read(CallList, get('/api/usage/calls?generationId=gen_3', eve.cookie))).calls).toEqual([])
  const rest = await read(CallList, get(`/api/usage/calls?limit=4&before=${first.nextBefore}`))
  expect([first.calls.length, rest.calls.length, rest.nextBefore]).toEqual([4, 2, null])
  expect(rest.calls.at(-1)?.isEstimated).toBe(true)
  const times = [...first.calls, ...rest.calls].map(({ at }) => at)
  expect(times).toEqual(times.toSorted().reverse())
})

test('GET /api/usage/calls: 200 filtered by agent, model and outcome; 400 for invalid filters, 401 without a session', async () => {
  const { get, eve } = await withCalls()
  const countOf = async (query: string) => (await read(CallList, get(`/api/usage/calls?${query}`))).calls.length
  expect(await countOf('agentId=bo')).toBe(3)
  expect(await countOf('agentId=bo&model=large')).toBe(2)
  expect([await countOf('status=failed'), await countOf('status=succeeded'), await countOf('keyId=none')]).toEqual([
    1, 5, 0,
  ])
  expect((await read(CallList, get('/api/usage/calls', eve.cookie))).calls.map(({ agentId }) => agentId)).toEqual([
    'eve',
  ])
  for (const query of ['limit=0', 'limit=101', 'before=x', 'status=maybe']) {
    expect((await get(`/api/usage/calls?${query}`)).status).toBe(400)
  }
  expect((await get('/api/usage/calls', {})).status).toBe(401)
})

test('GET /api/usage/by-day: 200 with the user’s days by agent and model, for every provider', async () => {
  const { get } = await withCalls()
  const week = await read(UsageByDay, get('/api/usage/by-day?days=7'))
  expect([week.days.length, week.days.at(-1)]).toEqual([7, '2026-11-18'])
  expect(week.rows).toEqual([
    {
      day: '2026-11-18',
      agentId: 'bo',
      agentName: null,
      keyId: null,
      keyName: null,
      model: 'small',
      calls: 4,
      tokens: 30,
      costUsd: 0.003,
    },
  ])
  expect((await read(UsageByDay, get('/api/usage/by-day'))).rows).toHaveLength(2)
  expect((await get('/api/usage/by-day?days=0')).status).toBe(400)
  expect((await get('/api/usage/by-day', {})).status).toBe(401)
})

test('GET /api/usage/by-day: 200 with calls without an agent divided among the keys, and the rest under none', async () => {
  const test = testPlatform()
  const ada = await test.signIn('ada@example.com', 'solo')
  const day = '2026-11-18'
  test.clock.set(new Date(`${day}T12:00:00Z`))
  await write(test.platform.db, (tx) => {
    const key = { userId: ada.user.id, name: 'Deploy', prefix: 'sk_a', createdAt: test.clock.now() }
    tx.insert(apiKeys)
      .values({ ...key, id: 'k1', hash: 'one' })
      .run()
    const used = { userId: ada.user.id, day, model: 'small', costMicroUsd: 1000 }
    tx.insert(usageDays)
      .values([
        { ...used, agentId: 'direct', costMicroUsd: 5000, inputTokens: 100, outputTokens: 50, calls: 5 },
        { ...used, agentId: 'bo', inputTokens: 1, outputTokens: 1, calls: 1 },
      ])
      .run()
    tx.insert(usageKeyDays)
      .values([
        { ...used, keyId: 'k1', tokens: 60, calls: 2 },
        { ...used, keyId: 'gone', tokens: 30, calls: 1 },
      ])
      .run()
  })
  const { rows } = await read(UsageByDay, test.web.request('/api/usage/by-day?days=1', { headers: ada.cookie }))
  expect(
    rows
      .map(({ agentId, keyName, keyId, calls, tokens, costUsd }) => [agentId, keyId, keyName, calls, tokens, costUsd])
      .sort(),
  ).toEqual([
    ['bo', null, null, 1, 2, 0.001],
    ['direct', null, null, 2, 60, 0.003],
    ['direct', 'gone', null, 1, 30, 0.001],
    ['direct', 'k1', 'Deploy', 2, 60, 0.001],
  ])
})
