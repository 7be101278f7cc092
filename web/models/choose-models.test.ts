import { expect, test } from 'bun:test'
import type { AiModel } from '../../src/features/ai/gateway/schemas.ts'
import { chooseModels, countProviders } from './choose-models.ts'

const model = (id: string, rest: Partial<AiModel> = {}): AiModel => ({
  id,
  name: id,
  provider: 'one',
  description: '',
  tags: [],
  inputCost: null,
  outputCost: null,
  contextWindow: null,
  available: true,
  ...rest,
})
const models = [
  model('cheap', { inputCost: 0.1, outputCost: 2, contextWindow: 8000, tags: ['tools'] }),
  model('unknown'),
  model('dear', { inputCost: 5, outputCost: 1, contextWindow: 200_000, provider: 'two', tags: ['vision', 'tools'] }),
  model('free', { inputCost: 0, outputCost: 0, description: 'Runs on this machine' }),
]
const idsOf = (search: Parameters<typeof chooseModels>[1]) => chooseModels(models, search).map(({ id }) => id)

test('chooseModels combines text, provider and capability filters', () => {
  expect(idsOf({})).toEqual(['cheap', 'dear', 'free', 'unknown'])
  expect(idsOf({ search: 'machine RUNS' })).toEqual(['free'])
  expect(idsOf({ provider: 'two' })).toEqual(['dear'])
  expect([idsOf({ can: 'tools' }), idsOf({ can: 'free' }), idsOf({ can: 'vision', provider: 'one' })]).toEqual([
    ['cheap', 'dear'],
    ['free'],
    [],
  ])
})

test('chooseModels ignores a leading sign when sorting by name', () => {
  const signed = ['~beta/latest', 'gamma', 'alpha'].map((id) => model(id))
  expect(chooseModels(signed, {}).map(({ id }) => id)).toEqual(['alpha', '~beta/latest', 'gamma'])
})

test('chooseModels sorts unknown prices last in both directions', () => {
  expect(idsOf({ sort: 'input' })).toEqual(['free', 'cheap', 'dear', 'unknown'])
  expect(idsOf({ sort: 'input', order: 'desc' })).toEqual(['dear', 'cheap', 'free', 'unknown'])
  expect(idsOf({ sort: 'output' })).toEqual(['free', 'dear', 'cheap', 'unknown'])
  expect(idsOf({ sort: 'context' })).toEqual(['dear', 'cheap', 'free', 'unknown'])
})

test('countProviders counts all models', () => {
  expect(countProviders(models)).toEqual([
    { provider: 'one', count: 3 },
    { provider: 'two', count: 1 },
  ])
})
