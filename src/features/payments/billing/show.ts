import { eq } from 'drizzle-orm'
import type { Cards } from '../../../adapters/payments/cards.ts'
import type { Clock } from '../../../core/clock.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findPlan, isPlanName, PLAN_NAMES, PLANS, type Plan, planInForce } from '../../accounts/plans/plans.ts'
import type { SignUp } from '../../accounts/registration/register.ts'
import { users } from '../../accounts/users/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import type { OwnKeys } from '../../ai/own-keys/own-keys.ts'
import type { RunningSums } from '../../ai/usage/quota.ts'
import type { Base } from '../../base.ts'
import { CREDIT_PACKS, STORAGE_UPGRADE } from '../cards/prices.ts'
import { listSubscriptions } from '../cards/subscriptions.ts'
import { type CardSubscriptionRow, cardCustomers } from '../cards/tables.ts'
import { creditsOf } from '../ledger/accounts.ts'
import { readCredits } from '../ledger/credits.ts'
import { readBalance } from '../ledger/post.ts'
import type { Billing, PlanList, Subscription } from './schemas.ts'

const GIGABYTE = 1024 ** 3
const PENCE = 100

/** Returns the contents of the billing page. */
export function showBilling(
  deps: Base & {
    ownKeys: OwnKeys
    userSums: RunningSums
    storage: Pick<StorageQuota, 'read'>
    cards: Pick<Cards, 'isConfigured'>
  },
  user: SignedInUser,
): Billing {
  const { db } = deps
  const providers = deps.ownKeys.listProviders(user.id)
  return {
    plans: Object.fromEntries(listShown(db, user).map((plan) => [plan.name, toOffer(plan)])),
    packs: Object.entries(CREDIT_PACKS).map(([pack, { credits, priceUsd }]) => ({
      pack,
      credits,
      price: `$${priceUsd}`,
    })),
    storageUpgrade: { bytes: STORAGE_UPGRADE.bytes, price: `£${STORAGE_UPGRADE.minorUnits / PENCE}` },
    currentPlan: user.plan,
    subscriptionStatus: readStatus(db, user.id),
    cardsConfigured: deps.cards.isConfigured,
    hasCustomer: db.select().from(cardCustomers).where(eq(cardCustomers.userId, user.id)).get() !== undefined,
    subscriptions: listSubscriptions(db, user.id).map(toSubscription),
    credits: readCredits(db, user.id),
    balanceUsd: formatMicroUsd(readBalance(db, creditsOf(user.id)), 2),
    storage: deps.storage.read(db, user.id),
    byokEnabled: providers.length > 0,
    byokProviders: providers,
    usage: toMonthUsage(deps, user),
  }
}

/** The built-in plans, and the user's own when the operator defined it. */
function listShown(db: Db, user: SignedInUser): Plan[] {
  const own = isPlanName(user.plan) ? null : findPlan(db, user.plan)
  return [...Object.values(PLANS), ...(own ? [own] : [])]
}

/** Returns the plans on sale, cheapest first; needs no account. */
export function listPlans({
  cards,
  signUp,
}: {
  cards: Pick<Cards, 'isConfigured'>
  signUp: Pick<SignUp, 'mode'>
}): PlanList {
  const plans = cards.isConfigured ? PLAN_NAMES.map((name) => toOffer(PLANS[name])) : []
  return { plans, currency: 'GBP', signUp: signUp.mode }
}

/** Returns the tokens of the plan this month (UTC); null when unlimited. */
export function toMonthUsage(
  deps: { db: Db; clock: Clock; userSums: RunningSums },
  user: SignedInUser,
): Billing['usage'] {
  const limit = planInForce(deps.db, user).tokensPerMonth
  const { tokens: used } = deps.userSums.used(user.id)
  const now = deps.clock.now()
  return {
    monthlyTokens: limit,
    used,
    remaining: limit === null ? null : Math.max(0, limit - used),
    resetsAt: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
  }
}

function readStatus(db: Db, userId: string): string {
  const row = db.select({ status: users.subscriptionStatus }).from(users).where(eq(users.id, userId)).get()
  return row?.status ?? 'inactive'
}

function toOffer({ name, priceGbp, agents, models, tokensPerMonth, costMicroUsdPerMonth, storageBytes, skills }: Plan) {
  const count = (amount: number | null, what: string) =>
    amount === null ? `Unlimited ${what}` : `${amount.toLocaleString('en')} ${what}`
  return {
    name: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    price: priceGbp,
    agents: agents ?? -1,
    features: [
      count(agents, agents === 1 ? 'agent' : 'agents'),
      count(models?.length ?? null, 'models'),
      count(tokensPerMonth, 'tokens a month'),
      ...(costMicroUsdPerMonth === null ? [] : [`$${formatMicroUsd(costMicroUsdPerMonth, 2)} of models a month`]),
      count(skills, 'skills'),
      `${storageBytes / GIGABYTE} GB of storage`,
    ],
  }
}

function toSubscription(row: CardSubscriptionRow): Subscription {
  return {
    id: row.id,
    purpose: row.purpose,
    plan: row.plan,
    state: row.state,
    isEnding: row.isEnding,
    paidUntil: row.paidUntil?.toISOString() ?? null,
    graceEndsAt: row.graceEndsAt?.toISOString() ?? null,
  }
}
