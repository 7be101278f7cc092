import { expect, test } from 'bun:test'
import { requireScope } from './scopes.ts'

test('requireScope allows everything without scopes, only the named scopes with them, and nothing with an unknown one', () => {
  expect(() => requireScope([], null)).not.toThrow()
  expect(() => requireScope(['read'], 'read')).not.toThrow()
  expect(() => requireScope(['read'], 'models')).toThrow('it takes the scope models')
  expect(() => requireScope(['read', 'agents', 'models', 'payments'], null)).toThrow('a key without limits')
  expect(() => requireScope(['of-a-later-version'], 'read')).toThrow()
  expect(() => requireScope(['models'], 'any')).not.toThrow()
})

test('requireScope allows only models when a key has the former scope ai', () => {
  expect(() => requireScope(['ai'], 'models')).not.toThrow()
  expect(() => requireScope(['ai'], 'agents')).toThrow('it takes the scope agents')
})
