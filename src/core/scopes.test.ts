import { expect, test } from 'bun:test'
import { requireScope } from './scopes.ts'

test('a key without scopes may do everything, one with scopes nothing else, and an unknown scope opens nothing', () => {
  expect(() => requireScope([], null)).not.toThrow()
  expect(() => requireScope(['read'], 'read')).not.toThrow()
  expect(() => requireScope(['read'], 'models')).toThrow('it takes the scope models')
  expect(() => requireScope(['read', 'agents', 'models', 'payments'], null)).toThrow('a key without limits')
  expect(() => requireScope(['of-a-later-version'], 'read')).toThrow()
  expect(() => requireScope(['models'], 'any')).not.toThrow()
})

test('a key with the former scope ai may ask models, and nothing else', () => {
  expect(() => requireScope(['ai'], 'models')).not.toThrow()
  expect(() => requireScope(['ai'], 'agents')).toThrow('it takes the scope agents')
})
