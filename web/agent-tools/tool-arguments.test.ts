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

test('a tool’s schema becomes fields, and what has no field of its own is JSON', () => {
  expect(wanted.map(({ name, kind, isRequired }) => [name, kind, isRequired])).toEqual([
    ['city', 'text', true],
    ['days', 'number', false],
    ['metric', 'boolean', false],
    ['unit', 'choice', false],
    ['filter', 'json', false],
  ])
  expect([listArguments({}), listArguments({ properties: 7 })]).toEqual([[], []])
})

test('what is filled in has the types of the schema; what is empty is left out', () => {
  const values = { city: 'Berlin', days: '3', metric: 'true', unit: 'C', filter: '{"a": [1]}' }
  expect(readArguments(wanted, values)).toEqual({
    input: { city: 'Berlin', days: 3, metric: true, unit: 'C', filter: { a: [1] } },
    problems: {},
  })
  expect(readArguments(wanted, { city: 'Berlin', days: ' ' }).input).toEqual({ city: 'Berlin' })
})

test('what is missing or is no number and no JSON is told at its field', () => {
  expect(readArguments(wanted, { city: '', days: 'three', filter: '{' }).problems).toEqual({
    city: 'This field is required.',
    days: 'Enter a number.',
    filter: 'Invalid JSON.',
  })
})
