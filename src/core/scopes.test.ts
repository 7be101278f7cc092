import { expect, test } from 'bun:test'
import { requireScope, type Scope, scopeOf } from './scopes.ts'

test.each<[method: string, path: string, scope: Scope | 'any' | null]>([
  ['GET', '/api/agents', 'read'],
  ['HEAD', '/api/agents', 'read'],
  ['POST', '/api/agents/provision', 'agents'],
  ['DELETE', '/api/agents/agt_1', 'agents'],
  ['POST', '/api/agent', 'agents'],
  ['POST', '/api/chat', 'agents'],
  ['POST', '/api/ai/chat', 'models'],
  ['GET', '/api/ai/models', 'models'],
  ['GET', '/v1/models', 'models'],
  ['POST', '/v1/chat/completions', 'models'],
  ['GET', '/api/agents/agt_1/token', 'agents'],
  ['HEAD', '/api/agents/agt_1/token', 'agents'],
  ['GET', '/api/instance/usr_1/token', 'agents'],
  ['GET', '/api/agents/token', 'read'],
  ['GET', '/api/payments/checkout', 'payments'],
  ['POST', '/api/v1/gateway', 'payments'],
  ['POST', '/api/billing', 'payments'],
  ['GET', '/api/credits', 'read'],
  ['GET', '/api/me/usage', 'any'],
  ['HEAD', '/api/models', 'any'],
  ['GET', '/api/me/usage/x', 'read'],
  ['POST', '/api/models', null],
  ['POST', '/api/settings', null],
  ['POST', '/api/agentsmith', null],
  ['PATCH', '/api/settings', null],
])('%s %s needs %p', (method, path, scope) => {
  expect(scopeOf(method, path)).toBe(scope)
})

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
