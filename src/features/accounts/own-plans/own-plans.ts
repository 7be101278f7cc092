import { and, count, eq, isNull } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError, StartupError } from '../../../core/errors.ts'
import { toUsd } from '../../../core/money.ts'
import type { PlanDefinition, PlanLimits } from '../../../core/settings/plan-definition.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../audit/audit.ts'
import { invites } from '../invites/tables.ts'
import { GIGABYTE, listPlanNames, PLANS, type Plan } from '../plans/plans.ts'
import { type PlanRow, plans } from '../plans/tables.ts'
import { users } from '../users/tables.ts'
import type { AdminPlan } from './schemas.ts'

export type OwnPlanDeps = { db: Db; clock: Clock; plans: { byDefault: string | null; own: readonly PlanDefinition[] } }
/** The administrator who changes a plan: user id and address. */
type Actor = { id: string; address: string | null }

/** A plan of the operator and the number of its accounts. */
type OwnPlan = PlanRow & { accounts: number }

/** Returns the operator's plans by name. */
function listOwnPlans(db: Db): OwnPlan[] {
  return db
    .select()
    .from(plans)
    .orderBy(plans.name)
    .all()
    .map((row) => ({ ...row, accounts: countAccounts(db, row.name) }))
}

/** @throws AppError `conflict` when a plan has this name, `limited` at 100 plans. */
export async function createOwnPlan(
  deps: OwnPlanDeps,
  by: Actor,
  { name, ...limits }: PlanDefinition,
): Promise<OwnPlan> {
  return write(deps.db, (tx) => {
    if (listPlanNames(tx).includes(name)) throw new AppError('conflict', `There is already a plan named ${name}`)
    if (listOwnPlans(tx).length >= MAX_PLANS) {
      throw new AppError('limited', 'Plan limit reached', { current: MAX_PLANS, limit: MAX_PLANS })
    }
    const now = deps.clock.now()
    const row = tx
      .insert(plans)
      .values({ name, ...limits, source: 'dashboard', updatedAt: now })
      .returning()
      .get()
    recordAudit(tx, { actor: by.id, action: 'plan.create', target: name, detail: limits, address: by.address }, now)
    return { ...row, accounts: 0 }
  })
}

/** Replaces the limits of a plan; they apply to its accounts at once. @throws AppError `not_found`. */
export async function changeOwnPlan(deps: OwnPlanDeps, by: Actor, name: string, limits: PlanLimits): Promise<OwnPlan> {
  return write(deps.db, (tx) => {
    getOwnPlan(tx, name)
    const now = deps.clock.now()
    const row = tx
      .update(plans)
      .set({ ...limits, source: 'dashboard', updatedAt: now })
      .where(eq(plans.name, name))
      .returning()
      .get()
    recordAudit(tx, { actor: by.id, action: 'plan.change', target: name, detail: limits, address: by.address }, now)
    return { ...row, accounts: countAccounts(tx, name) }
  })
}

/**
 * Deletes a plan. A plan of `PLANS_FILE` that was changed in the dashboard is reset to the file instead.
 * @throws AppError `not_found`; `conflict` while accounts, open invitations or `DEFAULT_PLAN` use it, and for an
 * unchanged plan of the file.
 */
export async function deleteOwnPlan(deps: OwnPlanDeps, by: Actor, name: string): Promise<void> {
  await write(deps.db, (tx) => {
    const plan = getOwnPlan(tx, name)
    const now = deps.clock.now()
    const ofFile = deps.plans.own.find((definition) => definition.name === name)
    if (ofFile && plan.source === 'file') {
      throw new AppError('conflict', `PLANS_FILE defines the plan ${name}: remove it there`)
    }
    if (ofFile) setOfFile(tx, ofFile, now)
    else {
      requireUnused(tx, deps, name)
      tx.delete(plans).where(eq(plans.name, name)).run()
    }
    const action = ofFile ? 'plan.reset' : 'plan.delete'
    recordAudit(tx, { actor: by.id, action, target: name, address: by.address }, now)
  })
}

const MAX_PLANS = 100

function getOwnPlan(db: Db, name: string): PlanRow {
  const row = db.select().from(plans).where(eq(plans.name, name)).get()
  if (!row) throw new AppError('not_found', 'Plan not found')
  return row
}

function requireUnused(db: Db, { plans: { byDefault } }: OwnPlanDeps, name: string): void {
  const accounts = countAccounts(db, name)
  if (accounts > 0) {
    const number = accounts === 1 ? '1 account has' : `${accounts} accounts have`
    throw new AppError('conflict', `${number} the plan ${name}: give them another one first`, { accounts })
  }
  if (byDefault === name) throw new AppError('conflict', `DEFAULT_PLAN names the plan ${name}`)
  const isOpen = and(eq(invites.plan, name), isNull(invites.usedAt))
  const open = db.select({ invites: count() }).from(invites).where(isOpen).get()?.invites ?? 0
  if (open > 0) throw new AppError('conflict', `An open invitation gives the plan ${name}: take it back first`)
}

function countAccounts(db: Db, name: string): number {
  return db.select({ accounts: count() }).from(users).where(eq(users.plan, name)).get()?.accounts ?? 0
}

/**
 * Synchronizes the plans of `PLANS_FILE` into the database. Plans changed in the dashboard stay; plans removed from the
 * file are deleted unless an account has them.
 * @returns the names of removed plans that stay.
 */
export async function takePlansOfFile({ db, clock, plans: { own } }: OwnPlanDeps): Promise<string[]> {
  return write(db, (tx) => {
    const now = clock.now()
    addPlansOfFile(tx, own, now)
    const left = listOwnPlans(tx).filter(
      ({ name, source }) => source === 'file' && !own.some((plan) => plan.name === name),
    )
    for (const { name, accounts } of left) {
      if (accounts === 0) tx.delete(plans).where(eq(plans.name, name)).run()
      else tx.update(plans).set({ source: 'dashboard' }).where(eq(plans.name, name)).run()
    }
    return left.filter(({ accounts }) => accounts > 0).map(({ name }) => name)
  })
}

/** Inserts and updates the plans of the file. */
export function addPlansOfFile(tx: Tx, own: readonly PlanDefinition[], now: Date): void {
  for (const definition of own) {
    const row = tx.select().from(plans).where(eq(plans.name, definition.name)).get()
    if (row?.source !== 'dashboard') setOfFile(tx, definition, now)
  }
}

function setOfFile(tx: Tx, { name, ...limits }: PlanDefinition, now: Date): void {
  const columns = { ...limits, source: 'file', updatedAt: now } as const
  tx.insert(plans)
    .values({ name, ...columns })
    .onConflictDoUpdate({ target: plans.name, set: columns })
    .run()
}

/** @throws StartupError when `DEFAULT_PLAN` names no plan. */
export function requireDefaultPlan(db: Db, byDefault: string | null): void {
  const names = listPlanNames(db)
  if (byDefault === null || names.includes(byDefault)) return
  throw new StartupError(`DEFAULT_PLAN: must be one of free, ${names.join(', ')}, not ${JSON.stringify(byDefault)}`)
}

/** Returns every plan with its number of accounts: the four built-in plans, then the operator's by name. */
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
