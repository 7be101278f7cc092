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
])('%s costs £%d and allows what the table of the specification says', (name, ...row) => {
  const { priceGbp, models, agents, skills, messagesPerDay, tokensPerMonth } = PLANS[name]
  const actual = [priceGbp, models?.length ?? null, agents, skills, messagesPerDay, tokensPerMonth]
  expect(actual).toEqual(row)
})

test('the models of label are a part of those of solo, and those of solo of collective', () => {
  const { solo, collective, label } = PLANS
  expect(solo.models).toEqual(expect.arrayContaining([...(label.models ?? [])]))
  expect(collective.models).toEqual(expect.arrayContaining([...(solo.models ?? [])]))
})

test('the tiers of the web have limits of their own', () => {
  expect(WEB_AGENT_LIMITS).toEqual({ starter: 1, pro: 3, enterprise: 100 })
})

test.each(PLAN_NAMES)('findPlan returns the plan %s', (name) => {
  expect(findPlan(db, name)).toBe(PLANS[name])
  expect(requirePlan(db, name).name).toBe(name)
})

test.each(['free', '', 'Solo', 'toString', '__proto__', null, undefined])('findPlan returns null for %p', (name) => {
  expect(findPlan(db, name)).toBeNull()
})

test('a word that is no plan is refused with those that are', () => {
  const refusal = new AppError('invalid', 'Invalid plan. Supported: solo, collective, label, network')
  expect(() => requirePlan(db, 'gold')).toThrow(refusal)
})
