import { eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { type MicroUsd, toMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { type PlanRow, plans } from './tables.ts'

/** The built-in plans, cheapest first. `free` is the deprecated name for no plan. */
export const PLAN_NAMES = ['solo', 'collective', 'label', 'network'] as const
export type PlanName = (typeof PLAN_NAMES)[number]

/** Limits of a plan; null means no limit. Prices are whole pounds per month. */
export type Plan = {
  name: string
  priceGbp: number
  models: readonly string[] | null
  agents: number | null
  skills: number | null
  messagesPerDay: number | null
  tokensPerMonth: number | null
  /** Model cost paid by the platform; only operators' plans limit it. */
  costMicroUsdPerMonth: MicroUsd | null
  /** Messages, memory, mail and workspaces together. */
  storageBytes: number
}

/** The model that only the largest plans and plans naming it include. */
export const PREMIUM_MODEL = 'anthropic/claude-opus-4.6'
const MEGABYTE = 1024 * 1024
export const GIGABYTE = 1024 * MEGABYTE
const LABEL_MODELS = ['openai/gpt-4o-mini', 'google/gemini-2.0-flash', 'xiaomi/mimo-v2-pro']
const SOLO_MODELS = [...LABEL_MODELS, 'openai/gpt-4o', 'anthropic/claude-3.5-sonnet']
const COLLECTIVE_MODELS = [...SOLO_MODELS, 'openai/gpt-4-turbo', 'anthropic/claude-3-opus']

/** As specified, including the three limits in which `label` is smaller than `collective`. */
export const PLANS: Readonly<Record<PlanName, Plan & { name: PlanName }>> = {
  solo: {
    name: 'solo',
    priceGbp: 29,
    models: SOLO_MODELS,
    agents: 1,
    skills: 10,
    messagesPerDay: 500,
    tokensPerMonth: 2_000_000,
    costMicroUsdPerMonth: null,
    storageBytes: GIGABYTE,
  },
  collective: {
    name: 'collective',
    priceGbp: 69,
    models: COLLECTIVE_MODELS,
    agents: 3,
    skills: 25,
    messagesPerDay: 2000,
    tokensPerMonth: 6_000_000,
    costMicroUsdPerMonth: null,
    storageBytes: 5 * GIGABYTE,
  },
  label: {
    name: 'label',
    priceGbp: 149,
    models: LABEL_MODELS,
    agents: 10,
    skills: 3,
    messagesPerDay: 100,
    tokensPerMonth: 20_000_000,
    costMicroUsdPerMonth: null,
    storageBytes: 20 * GIGABYTE,
  },
  network: {
    name: 'network',
    priceGbp: 499,
    models: null,
    agents: null,
    skills: 100,
    messagesPerDay: 10_000,
    tokensPerMonth: null,
    costMicroUsdPerMonth: null,
    storageBytes: 100 * GIGABYTE,
  },
}

/** Limits without a plan: nothing that the platform pays for. */
export const NO_PLAN: Plan = {
  name: 'free',
  priceGbp: 0,
  models: [],
  agents: 0,
  skills: 0,
  messagesPerDay: 0,
  tokensPerMonth: 0,
  costMicroUsdPerMonth: 0,
  // Enough to try the dashboard and keep data for a while.
  storageBytes: 100 * MEGABYTE,
}

/** Returns the effective plan: the largest for admins, none without an active subscription. */
export function planInForce(db: Db, user: { isAdmin: boolean; plan: string; subscriptionId: string | null }): Plan {
  if (user.isAdmin) return PLANS.network
  return (user.subscriptionId !== null && findPlan(db, user.plan)) || NO_PLAN
}

/** The error for users without a plan. */
export function planRequired(): AppError {
  return new AppError('payment_required', 'Valid subscription required. Choose a plan at /pricing', {
    success: false,
    code: 'PLAN_REQUIRED',
  })
}

/** Agents per tier of the web API's provisioning route. */
export const WEB_AGENT_LIMITS: Readonly<Record<string, number>> = { starter: 1, pro: 3, enterprise: 100 }

/** Returns the number of agents a tier allows; 1 for unknown tiers. */
export function agentsOfTier(tier: string): number {
  return Object.hasOwn(WEB_AGENT_LIMITS, tier) ? (WEB_AGENT_LIMITS[tier] ?? 1) : 1
}

/** Returns a built-in plan or one of the operator; null for `free`, a missing and an unknown name. */
export function findPlan(db: Db, name: string | null | undefined): Plan | null {
  if (isPlanName(name)) return PLANS[name]
  if (!name || name === NO_PLAN.name) return null
  const row = db.select().from(plans).where(eq(plans.name, name)).get()
  return row ? toPlan(row) : null
}

/** Returns whether `name` is one of the four built-in plans. */
export function isPlanName(name: string | null | undefined): name is PlanName {
  return PLAN_NAMES.some((plan) => plan === name)
}

/** Returns the names of all plans, built-in ones first. */
export function listPlanNames(db: Db): string[] {
  const own = db.select({ name: plans.name }).from(plans).orderBy(plans.name).all()
  return [...PLAN_NAMES, ...own.map(({ name }) => name)]
}

/** @throws AppError `invalid` naming the plans that exist. */
export function requirePlan(db: Db, name: string): Plan {
  const plan = findPlan(db, name)
  if (!plan) throw new AppError('invalid', `Invalid plan. Supported: ${listPlanNames(db).join(', ')}`)
  return plan
}

/** Returns the used share of the monthly tokens or money in percent, whichever is larger; 0 without such a limit. */
export function usedPercentOfPlan(
  { tokensPerMonth, costMicroUsdPerMonth }: Plan,
  used: { tokens: number; costMicroUsd: MicroUsd },
): number {
  const ofTokens = tokensPerMonth ? used.tokens / tokensPerMonth : 0
  const ofCost = costMicroUsdPerMonth ? used.costMicroUsd / costMicroUsdPerMonth : 0
  return Math.max(ofTokens, ofCost) * 100
}

function toPlan(row: PlanRow): Plan {
  return {
    name: row.name,
    priceGbp: 0,
    models: row.models,
    agents: row.agents,
    skills: row.skills,
    messagesPerDay: row.messagesPerDay,
    tokensPerMonth: row.tokensPerMonth,
    costMicroUsdPerMonth: row.usdPerMonth === null ? null : toMicroUsd(row.usdPerMonth),
    storageBytes: Math.round(row.storageGb * GIGABYTE),
  }
}
