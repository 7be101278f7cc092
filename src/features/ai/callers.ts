import { eq } from 'drizzle-orm'
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../core/ids.ts'
import { requireScope } from '../../core/scopes.ts'
import { sha256 } from '../../core/secrets.ts'
import { memoize } from '../../db/memo.ts'
import type { Db } from '../../db/open.ts'
import { parameter } from '../../db/parameters.ts'
import type { BackendEnv, SignedInUser } from '../../http/env.ts'
import { label } from '../../http/guard-label.ts'
import { readBearer, requireKey } from '../../http/internal-key.ts'
import { limitRate } from '../../http/rate-limit.ts'
import { users } from '../accounts/tables.ts'
import { type AccountRules, identityColumns, toSignedInUser } from '../accounts/users.ts'
import { agents } from '../agents/tables.ts'
import type { VerifyKey } from '../keys/verify.ts'
import { findPlan, PLANS } from '../plans/plans.ts'
import type { KeyLimits } from '../usage/quota.ts'
import type { Caller } from './complete.ts'

/** Calls that no agent made, in usage logs. */
const DIRECT = 'direct'

export type CallerDeps = { db: Db; verifyKey: VerifyKey; rules: AccountRules; internalApiKey: string | undefined }
export type Headers = (name: string) => string | undefined

export type CallerFinder = {
  /** The caller of `/api/ai/*`: plan first, then bearer (rulings, 3). Both refuse a key without the scope `models`. */
  requirePlannedCaller(header: Headers): Caller
  /** The caller of `/v1/*`: an `sk_` key, an agent's token, or the internal key with identity headers. */
  requireBearer(header: Headers): Caller
  /** The agent whose own token this is, whatever plan its owner has: what it does here costs nothing. */
  requireAgentToken(header: Headers): string
}

export type CallerEnv = BackendEnv & { Variables: { caller: Caller } }
export type AgentCallerEnv = BackendEnv & { Variables: { agentId: string } }

/** Guard of `/api/ai/*` routes that cost money: sets `c.var.caller`. */
export function requirePlannedCaller(callers: CallerFinder) {
  return label(
    'planned-bearer',
    createMiddleware<CallerEnv>(async (c, next) => {
      c.set(
        'caller',
        callers.requirePlannedCaller((name) => c.req.header(name)),
      )
      await next()
    }),
  )
}

/** Guard of `/v1/*`: sets `c.var.caller`. */
export function requireCaller(callers: CallerFinder) {
  return label(
    'bearer',
    createMiddleware<CallerEnv>(async (c, next) => {
      c.set(
        'caller',
        callers.requireBearer((name) => c.req.header(name)),
      )
      await next()
    }),
  )
}

/** Guard of what agents do for themselves: sets `c.var.agentId`. */
export function requireAgent(callers: CallerFinder) {
  return label(
    'agent-token',
    createMiddleware<AgentCallerEnv>(async (c, next) => {
      c.set(
        'agentId',
        callers.requireAgentToken((name) => c.req.header(name)),
      )
      await next()
    }),
  )
}

/**
 * Holds a caller to the platform's rate for one bearer, and to the key's own where that is lower: all agents of a machine
 * share an address. Stands behind the guard, so that strangers cannot fill the counters with made-up bearers.
 */
export function limitCaller(requestsPerMinute: number) {
  const ofKey = (c: Context) => {
    const caller: Caller | undefined = c.get('caller')
    return Math.min(caller?.key?.requestsPerMinute ?? requestsPerMinute, requestsPerMinute)
  }
  const whoAsks = (c: Context) => {
    const caller: Caller | undefined = c.get('caller')
    if (caller?.key) return caller.key.id
    return caller && caller.agentId !== DIRECT ? caller.agentId : sha256(c.req.header('authorization') ?? '')
  }
  return limitRate(ofKey, 'Too many requests, please slow down.', whoAsks)
}

/** Finds out who calls a model and on what plan: from the database for keys and agents, from headers only behind the internal key. */
export function createCallerFinder(deps: CallerDeps): CallerFinder {
  const ownerOfAgent = deps.db
    .select({ agentId: agents.id, user: identityColumns })
    .from(agents)
    .leftJoin(users, eq(users.id, agents.ownerId))
    .where(eq(agents.accessTokenHash, parameter('hash')))
    .prepare()
  const findAgent = memoize(deps.db, (hash) => ownerOfAgent.get({ hash }) ?? null)

  const findByToken = (token: string | null): Caller | null => {
    if (token?.startsWith(AGENT_TOKEN_PREFIX)) {
      const agent = findAgent(sha256(token))
      if (!agent) return null
      // An agent without an owner is the operator's: nobody's plan limits it.
      if (!agent.user) return { userId: 'operator', agentId: agent.agentId, plan: PLANS.network, key: null }
      if (agent.user.disabledAt) throw accountDisabled()
      return toCaller(toSignedInUser(agent.user, deps.rules), agent.agentId, null)
    }
    if (!token?.startsWith('sk_')) return null
    const holder = deps.verifyKey(token)
    if (!holder) return null
    requireScope(holder.scopes, 'models')
    return toCaller(toSignedInUser(holder, deps.rules), DIRECT, holder.key)
  }

  return {
    requirePlannedCaller(header) {
      const known = findByToken(bearerOf(header))
      if (known) return known
      const caller = callerOfHeaders(header, deps.rules)
      requireServiceBearer(header, deps.internalApiKey)
      return caller
    },
    requireBearer(header) {
      const known = findByToken(bearerOf(header))
      if (known) return known
      requireServiceBearer(header, deps.internalApiKey)
      return callerOfHeaders(header, deps.rules)
    },
    requireAgentToken(header) {
      const token = bearerOf(header)
      const agent = token?.startsWith(AGENT_TOKEN_PREFIX) ? findAgent(sha256(token)) : null
      if (!agent) throw new AppError('unauthenticated', 'Unauthorized')
      if (agent.user?.disabledAt) throw accountDisabled()
      return agent.agentId
    },
  }
}

function accountDisabled(): AppError {
  return new AppError('forbidden', 'The account of this agent is disabled', { code: 'ACCOUNT_DISABLED' })
}

/** @throws AppError `payment_required` PLAN_REQUIRED or SUBSCRIPTION_REQUIRED. */
function toCaller(user: SignedInUser, agentId: string, key: KeyLimits | null): Caller {
  const plan = user.isAdmin ? PLANS.network : requirePlan(user.plan, user.subscriptionId)
  return { userId: user.id, agentId, plan, key }
}

function callerOfHeaders(header: Headers, rules: AccountRules): Caller {
  const userId = header('x-user-id') ?? 'anonymous'
  const isAdmin = rules.adminEmails.includes(header('x-user-email')?.toLowerCase() ?? '')
  if (isAdmin) return { userId, agentId: DIRECT, plan: PLANS.network, key: null }
  return {
    userId,
    agentId: DIRECT,
    plan: requirePlan(header('x-user-plan'), header('x-billing-subscription-id') ?? null),
    key: null,
  }
}

function requirePlan(name: string | undefined, subscriptionId: string | null) {
  const plan = findPlan(name)
  if (!plan) {
    throw new AppError('payment_required', 'Valid subscription required. Choose a plan at /pricing', {
      success: false,
      code: 'PLAN_REQUIRED',
    })
  }
  if (!subscriptionId) {
    throw new AppError('payment_required', 'Active subscription required. Subscribe at /pricing', {
      success: false,
      code: 'SUBSCRIPTION_REQUIRED',
    })
  }
  return plan
}

/** A key or agent token that matches nothing is a wrong credential, not a wrong internal key. */
function requireServiceBearer(header: Headers, internalApiKey: string | undefined): void {
  const token = bearerOf(header)
  if (token === null || token.startsWith('sk_') || token.startsWith(AGENT_TOKEN_PREFIX)) {
    throw new AppError('unauthenticated', 'Unauthorized')
  }
  requireKey(token, internalApiKey)
}

function bearerOf(header: Headers): string | null {
  return readBearer(header('authorization'))
}
