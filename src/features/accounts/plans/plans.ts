import { eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { type MicroUsd, toMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { type PlanRow, plans } from './tables.ts'

/** The plans that are sold, cheapest first; `free` is the deprecated word for none (Interface 2). */
export const PLAN_NAMES = ['solo', 'collective', 'label', 'network'] as const
export type PlanName = (typeof PLAN_NAMES)[number]

/** What a plan allows; null means no limit. Prices are whole pounds a month. */
export type Plan = {
  name: string
  priceGbp: number
  models: readonly string[] | null
  agents: number | null
  skills: number | null
  messagesPerDay: number | null
  tokensPerMonth: number | null
  /** Cost of models that the platform pays; only operators' own plans limit it. */
  costMicroUsdPerMonth: MicroUsd | null
  /** For messages, memory, mail and workspaces together (decisions, 50). */
  storageBytes: number
}

/** The model that only the largest plans and those who name it get (Interface 4.4). */
export const PREMIUM_MODEL = 'anthropic/claude-opus-4.6'
const MEGABYTE = 1024 * 1024
export const GIGABYTE = 1024 * MEGABYTE
const LABEL_MODELS = ['openai/gpt-4o-mini', 'google/gemini-2.0-flash', 'xiaomi/mimo-v2-pro']
const SOLO_MODELS = [...LABEL_MODELS, 'openai/gpt-4o', 'anthropic/claude-3.5-sonnet']
const COLLECTIVE_MODELS = [...SOLO_MODELS, 'openai/gpt-4-turbo', 'anthropic/claude-3-opus']

/** Interface 2, table Plans, taken as written: that `label` is smaller in three columns is no slip of ours (decisions, 18). */
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

/** What somebody without a plan has: nothing that the platform pays for (Interface 2: the limit of `free` is zero). */
export const NO_PLAN: Plan = {
  name: 'free',
  priceGbp: 0,
  models: [],
  agents: 0,
  skills: 0,
  messagesPerDay: 0,
  tokensPerMonth: 0,
  costMicroUsdPerMonth: 0,
  // Enough to look around, and to keep what one had for a while.
  storageBytes: 100 * MEGABYTE,
}

/** The plan that is in force for somebody: admins have the largest, and one that is not active counts for nothing. */
export function planInForce(db: Db, user: { isAdmin: boolean; plan: string; subscriptionId: string | null }): Plan {
  if (user.isAdmin) return PLANS.network
  return (user.subscriptionId !== null && findPlan(db, user.plan)) || NO_PLAN
}

/** What somebody without a plan is told. */
export function planRequired(): AppError {
  return new AppError('payment_required', 'Valid subscription required. Choose a plan at /pricing', {
    success: false,
    code: 'PLAN_REQUIRED',
  })
}

/** Agents per tier on the web's provisioning route (Interface 4.4). */
export const WEB_AGENT_LIMITS: Readonly<Record<string, number>> = { starter: 1, pro: 3, enterprise: 100 }

/** How many agents a tier allows on the web; an unknown one, which may be any word, allows a single one. */
export function agentsOfTier(tier: string): number {
  return Object.hasOwn(WEB_AGENT_LIMITS, tier) ? (WEB_AGENT_LIMITS[tier] ?? 1) : 1
}

/** Returns a plan of the interface or of the operator; null for `free`, for nothing and for an unknown name. */
export function findPlan(db: Db, name: string | null | undefined): Plan | null {
  if (isPlanName(name)) return PLANS[name]
  if (!name || name === NO_PLAN.name) return null
  const row = db.select().from(plans).where(eq(plans.name, name)).get()
  return row ? toPlan(row) : null
}

/** Returns whether `name` is one of the four plans of the interface. */
export function isPlanName(name: string | null | undefined): name is PlanName {
  return PLAN_NAMES.some((plan) => plan === name)
}

/** Returns the names of all plans, those of the interface first. */
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

/** Returns how much of a plan's monthly tokens or money is used, whichever is more; 0 without such a limit. */
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
