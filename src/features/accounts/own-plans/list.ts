import { count } from 'drizzle-orm'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { GIGABYTE, PLANS, type Plan } from '../plans/plans.ts'
import { users } from '../users/tables.ts'
import { listOwnPlans, type OwnPlan } from './own-plans.ts'
import type { AdminPlan } from './schemas.ts'

/** Returns every plan with the number of its accounts: the four of the interface, then the operator's by name. */
export function listPlansForAdmin(db: Db): AdminPlan[] {
  const rows = db.select({ plan: users.plan, accounts: count() }).from(users).groupBy(users.plan).all()
  const accountsOf = (name: string) => rows.find(({ plan }) => plan === name)?.accounts ?? 0
  const ofInterface = Object.values(PLANS).map((plan) => toInterfacePlan(plan, accountsOf(plan.name)))
  return [...ofInterface, ...listOwnPlans(db).map(toAdminPlan)]
}

function toInterfacePlan({ costMicroUsdPerMonth, storageBytes, ...plan }: Plan, accounts: number): AdminPlan {
  return {
    name: plan.name,
    source: 'interface',
    models: plan.models === null ? null : [...plan.models],
    agents: plan.agents,
    skills: plan.skills,
    messagesPerDay: plan.messagesPerDay,
    tokensPerMonth: plan.tokensPerMonth,
    usdPerMonth: costMicroUsdPerMonth === null ? null : toUsd(costMicroUsdPerMonth),
    storageGb: storageBytes / GIGABYTE,
    accounts,
  }
}

export function toAdminPlan({ updatedAt: _updatedAt, ...plan }: OwnPlan): AdminPlan {
  return plan
}
