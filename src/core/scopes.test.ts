import { expect, test } from 'bun:test'
import { requireScope, type Scope, scopeOf } from './scopes.ts'

test.each<[method: string, path: string, scope: Scope | null]>([
  ['GET', '/api/agents', 'read'],
  ['HEAD', '/api/agents', 'read'],
  ['POST', '/api/agents/provision', 'agents'],
  ['DELETE', '/api/agents/agt_1', 'agents'],
  ['POST', '/api/agent', 'agents'],
  ['POST', '/api/chat', 'agents'],
  ['POST', '/api/ai/chat', 'ai'],
  ['GET', '/api/ai/models', 'ai'],
  ['GET', '/v1/models', 'ai'],
  ['POST', '/v1/chat/completions', 'ai'],
  ['POST', '/api/v1/gateway', 'payments'],
  ['POST', '/api/billing', 'payments'],
  ['GET', '/api/credits', 'read'],
  ['POST', '/api/settings', null],
  ['POST', '/api/agentsmith', null],
  ['PATCH', '/api/settings', null],
])('%s %s needs %p', (method, path, scope) => {
  expect(scopeOf(method, path)).toBe(scope)
})

test('a key without scopes may do everything, one with scopes nothing else, and an unknown scope opens nothing', () => {
  expect(() => requireScope([], null)).not.toThrow()
  expect(() => requireScope(['read'], 'read')).not.toThrow()
  expect(() => requireScope(['read'], 'ai')).toThrow('it takes the scope ai')
  expect(() => requireScope(['read', 'agents', 'ai', 'payments'], null)).toThrow('a key without limits')
  expect(() => requireScope(['of-a-later-version'], 'read')).toThrow()
})
