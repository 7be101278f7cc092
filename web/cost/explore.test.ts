import { expect, test } from 'bun:test'
import { addUp, chooseRows, forecastMonth, toShares, toStack } from './explore.ts'

const row = (day: string, agentId: string, model: string, costUsd: number, keyId: string | null = null) => ({
  day,
  agentId,
  agentName: agentId === 'direct' ? null : agentId.toUpperCase(),
  keyId,
  keyName: keyId === 'k1' ? 'Deploy' : null,
  model,
  calls: 1,
  tokens: 10,
  costUsd,
})
const rows = [
  row('2026-11-01', 'bo', 'small', 1),
  row('2026-11-02', 'bo', 'large', 2),
  row('2026-11-02', 'direct', 'small', 4),
]

test('chooseRows and addUp filter by agent, model, both or none', () => {
  expect(addUp(chooseRows(rows, {}))).toEqual({ calls: 3, tokens: 30, costUsd: 7 })
  expect(addUp(chooseRows(rows, { agent: 'bo' })).costUsd).toBe(3)
  expect(addUp(chooseRows(rows, { agent: 'bo', model: 'small' })).costUsd).toBe(1)
})

test('toShares sorts by cost and names calls without an agent', () => {
  expect(toShares(rows, 'agent').map(({ name, costUsd }) => [name, costUsd])).toEqual([
    ['No agent', 4],
    ['BO', 3],
  ])
  expect(toShares(rows, 'model').map(({ id }) => id)).toEqual(['small', 'large'])
})

test('toShares by key numbers keys with equal names, and gives calls without a key no id', () => {
  const byKey = [
    ...rows,
    row('2026-11-02', 'direct', 'small', 9, 'k1'),
    ...['x', 'y'].map((id) => row('2026-11-02', 'direct', 'small', 1, id)),
  ]
  expect(toShares(byKey, 'key').map(({ id, name, costUsd }) => [id, name, costUsd])).toEqual([
    ['k1', 'Deploy', 9],
    [null, 'No API key', 7],
    ['x', 'Deleted key', 1],
    ['y', 'Deleted key', 1],
  ])
  expect(toStack({ days: ['2026-11-02'], rows: byKey }, 'key').names).toEqual([
    'Deploy',
    'No API key',
    'Deleted key',
    'Deleted key (2)',
  ])
  expect(addUp(chooseRows(byKey, { key: 'k1' })).costUsd).toBe(9)
})

test('toStack gives every day the same parts and groups the smallest', () => {
  const many = Array.from({ length: 7 }, (_, index) => row('2026-11-02', `a${index}`, 'm', 7 - index))
  const stack = toStack({ days: ['2026-11-01', '2026-11-02'], rows: many }, 'agent')
  expect(stack.names).toEqual(['A0', 'A1', 'A2', 'A3', 'A4', '2 others'])
  expect(stack.days).toEqual([
    { day: '2026-11-01', parts: [0, 0, 0, 0, 0, 0] },
    { day: '2026-11-02', parts: [7, 6, 5, 4, 3, 3] },
  ])
})

test('forecastMonth projects the current rate and returns null on the first day or without usage', () => {
  expect(forecastMonth(rows, new Date('2026-11-16T00:00:00Z'))).toEqual({ soFar: 7, atEnd: 14 })
  expect(forecastMonth(rows, new Date('2026-11-01T20:00:00Z'))).toBeNull()
  expect(forecastMonth(rows, new Date('2026-12-16T00:00:00Z'))).toBeNull()
})
