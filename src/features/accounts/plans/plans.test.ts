import { expect, test } from 'bun:test'
import { openTestDatabase } from '../../../../tests/harness/database.ts'
import { AppError } from '../../../core/errors.ts'
import { findPlan, PLAN_NAMES, PLANS, type PlanName, requirePlan, WEB_AGENT_LIMITS } from './plans.ts'

const { db } = openTestDatabase()

test.each<[PlanName, ...(number | null)[]]>([
  ['solo', 29, 5, 1, 10, 500, 2_000_000],
  ['collective', 69, 7, 3, 25, 2000, 6_000_000],
  ['label', 149, 3, 10, 3, 100, 20_000_000],
  ['network', 499, null, null, 100, 10_000, null],
])('%s costs £%d and has the limits of the interface documentation', (name, ...row) => {
  const { priceGbp, models, agents, skills, messagesPerDay, tokensPerMonth } = PLANS[name]
  const actual = [priceGbp, models?.length ?? null, agents, skills, messagesPerDay, tokensPerMonth]
  expect(actual).toEqual(row)
})

test('the models of label are a subset of those of solo, and those of solo of collective', () => {
  const { solo, collective, label } = PLANS
  expect(solo.models).toEqual(expect.arrayContaining([...(label.models ?? [])]))
  expect(collective.models).toEqual(expect.arrayContaining([...(solo.models ?? [])]))
})

test('plans have separate rates in the web API', () => {
  expect(WEB_AGENT_LIMITS).toEqual({ starter: 1, pro: 3, enterprise: 100 })
})

test.each(PLAN_NAMES)('findPlan returns a plan when the name is %s', (name) => {
  expect(findPlan(db, name)).toBe(PLANS[name])
  expect(requirePlan(db, name).name).toBe(name)
})

test.each(['free', '', 'Solo', 'toString', '__proto__', null, undefined])(
  'findPlan returns null when the name is %p',
  (name) => {
    expect(findPlan(db, name)).toBeNull()
  },
)

test('an unknown plan is refused with a list of the plans', () => {
  const refusal = new AppError('invalid', 'Invalid plan. Supported: solo, collective, label, network')
  expect(() => requirePlan(db, 'gold')).toThrow(refusal)
})
