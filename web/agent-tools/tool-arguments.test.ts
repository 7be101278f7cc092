import { expect, test } from 'bun:test'
import { listArguments, readArguments } from './tool-arguments.ts'

const wanted = listArguments({
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Where' },
    days: { type: 'integer' },
    metric: { type: 'boolean' },
    unit: { enum: ['C', 'F'] },
    filter: { type: 'object' },
  },
  required: ['city'],
})

test('listArguments turns a schema into fields, with JSON for other types', () => {
  expect(wanted.map(({ name, kind, isRequired }) => [name, kind, isRequired])).toEqual([
    ['city', 'text', true],
    ['days', 'number', false],
    ['metric', 'boolean', false],
    ['unit', 'choice', false],
    ['filter', 'json', false],
  ])
  expect([listArguments({}), listArguments({ properties: 7 })]).toEqual([[], []])
})

test('readArguments converts values to the schema types and omits empty fields', () => {
  const values = { city: 'Berlin', days: '3', metric: 'true', unit: 'C', filter: '{"a": [1]}' }
  expect(readArguments(wanted, values)).toEqual({
    input: { city: 'Berlin', days: 3, metric: true, unit: 'C', filter: { a: [1] } },
    problems: {},
  })
  expect(readArguments(wanted, { city: 'Berlin', days: ' ' }).input).toEqual({ city: 'Berlin' })
})

test('readArguments reports missing values, invalid numbers and invalid JSON by field', () => {
  expect(readArguments(wanted, { city: '', days: 'three', filter: '{' }).problems).toEqual({
    city: 'This field is required.',
    days: 'Enter a number.',
    filter: 'Invalid JSON.',
  })
})
