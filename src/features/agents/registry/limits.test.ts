import { expect, test } from 'bun:test'
import type { Principal } from '../../../http/env.ts'
import { defaultSize, requirePlanOfAgent, requireSize, withinPlan } from './limits.ts'

function userOf(plan: string, isAdmin = false): Principal {
  const user = { id: 'usr_1', email: 'ada@example.com', name: 'Ada', isAdmin, plan, subscriptionId: 'sub_1' }
  return { kind: 'user', user }
}

const OPERATOR: Principal = { kind: 'operator' }

test('withinPlan returns the plan of the owner when a clone or a default would be larger', () => {
  expect(withinPlan(userOf('solo'), 'network')).toBe('solo')
  expect(withinPlan(userOf('network'), 'label')).toBe('label')
  expect(withinPlan(userOf('solo', true), 'network')).toBe('network')
  expect([defaultSize(userOf('solo')), defaultSize(userOf('network')), defaultSize(OPERATOR)]).toEqual([
    'solo',
    'label',
    'label',
  ])
})

test('requireSize throws PLAN_REQUIRED when the size exceeds the plan', () => {
  expect(() => requireSize(userOf('solo'), 'enterprise')).toThrow('does not include agents of this size')
  expect(() => requireSize(userOf('solo'), 'a word without a size')).not.toThrow()
  expect(() => requireSize(OPERATOR, 'enterprise')).not.toThrow()
})

test('requirePlanOfAgent throws when a plan does not exist, unless it is the current one', () => {
  expect(() => requirePlanOfAgent(userOf('solo'), 'bogus')).toThrow('Invalid plan')
  expect(() => requirePlanOfAgent(OPERATOR, 'bogus')).toThrow('Invalid plan')
  expect(() => requirePlanOfAgent(userOf('house'), 'house')).not.toThrow()
})
