import { eq } from 'drizzle-orm'
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { Egress } from '../../../adapters/egress/egress.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../../core/ids.ts'
import { requireScope } from '../../../core/scopes.ts'
import { isSameSecret, sha256 } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/prepare-once.ts'
import { describeMiddleware } from '../../../http/endpoint.ts'
import type { BackendEnv, SignedInUser } from '../../../http/env.ts'
import { type FindUserById, readBearer, requireKey } from '../../../http/internal-key.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Client, KeyHolder, VerifyKey } from '../../accounts/keys/verify.ts'
import { findPlan, NO_PLAN, PLANS, type Plan, planRequired } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { type AccountRules, identityColumns, toSignedInUser } from '../../accounts/users/users.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Breakers } from '../breakers/breakers.ts'
import { createGuardFinder } from '../guardrails/guard.ts'
import type { OwnKeys } from '../own-keys/own-keys.ts'
import { parseTags } from '../requests/attribution.ts'
import { MAX_CACHE_SECONDS } from '../response-cache/response-cache.ts'
import { DIRECT } from '../usage/tables.ts'
import type { Caller } from './request-body.ts'

type CallerDeps = {
  db: Db
  clock: Clock
  verifyKey: VerifyKey
  rules: AccountRules
  ownKeys: Pick<OwnKeys, 'list'>
  breakers: Breakers
  egress: Egress
  findUser: FindUserById
  internalApiKey: string | undefined
  /** Marks an agent as active. */
  touchAgent(agentId: string): void
}
type Headers = (name: string) => string | undefined

/** Key lookups require the scope `models` and an allowed address. A caller with provider keys of their own but no plan gets `NO_PLAN`. */
export type CallerFinder = {
  /** Returns the caller of `/api/ai/*`. Checks the plan before the bearer, as the specification demands. */
  requirePlannedCaller(header: Headers, client: Client): Caller
  /**
   * Returns the caller of `/v1/*`: an `sk_` key, an agent's token, or the internal key with identity headers, as the bearer or in
   * `x-api-key`.
   */
  requireBearer(header: Headers, client: Client): Caller
  /** Returns the caller without requiring a plan, for routes that cost nothing. */
  identify(header: Headers, client: Client): Caller
  /** As `requireBearer`, without requiring a plan. */
  identifyBearer(header: Headers, client: Client): Caller
  /** Returns the id of the agent that owns the token, without requiring a plan. */
  requireAgentToken(header: Headers): string
  /** Returns the caller for a signed-in user. @throws AppError `payment_required` with neither a plan nor own provider keys. */
  callerOfUser(user: SignedInUser): Caller
}

export type CallerEnv = BackendEnv & { Variables: { caller: Caller } }
export type AgentCallerEnv = BackendEnv & { Variables: { agentId: string } }

/** Guard of `/api/ai/*` routes that cost money: sets `c.var.caller`. */
export function requirePlannedCaller(callers: CallerFinder) {
  return describeMiddleware(
    createMiddleware<CallerEnv>((c, next) => {
      enter(
        c,
        callers.requirePlannedCaller((name) => c.req.header(name), c.env),
      )
      return next()
    }),
    { guard: 'planned-bearer' },
  )
}

/** Guard of `/v1/*`: sets `c.var.caller`. */
export function requireCaller(callers: CallerFinder) {
  return describeMiddleware(
    createMiddleware<CallerEnv>((c, next) => {
      enter(
        c,
        callers.requireBearer((name) => c.req.header(name), c.env),
      )
      return next()
    }),
    { guard: 'bearer' },
  )
}

/** Guard of routes that only agents call: sets `c.var.agentId`. */
export function requireAgent(callers: CallerFinder) {
  return describeMiddleware(
    createMiddleware<AgentCallerEnv>(async (c, next) => {
      const agentId = callers.requireAgentToken((name) => c.req.header(name))
      c.set('agentId', agentId)
      c.set('holder', agentId)
      await next()
    }),
    { guard: 'agent-token' },
  )
}

/** Guard of routes that need a caller but no plan: sets `c.var.caller`. */
export function identifyCaller(callers: CallerFinder) {
  return describeMiddleware(
    createMiddleware<CallerEnv>((c, next) => {
      enter(
        c,
        callers.identify((name) => c.req.header(name), c.env),
      )
      return next()
    }),
    { guard: 'any-bearer' },
  )
}

/** Guard of `/v1/*` routes that need a caller but no plan: sets `c.var.caller`. */
export function identifyBearer(callers: CallerFinder) {
  return describeMiddleware(
    createMiddleware<CallerEnv>((c, next) => {
      enter(
        c,
        callers.identifyBearer((name) => c.req.header(name), c.env),
      )
      return next()
    }),
    { guard: 'unplanned-bearer' },
  )
}

function enter(c: Context<CallerEnv>, caller: Caller): void {
  const tags = c.req.header('x-stead-tags')
  const cacheSeconds = findCacheSeconds(c.req.header('x-stead-cache'), caller)
  const chosen = { ...(tags !== undefined && { tags: parseTags(tags) }), ...(cacheSeconds > 0 && { cacheSeconds }) }
  c.set('caller', tags === undefined && cacheSeconds === 0 ? caller : { ...caller, ...chosen })
  c.set('holder', caller.userId)
}

/** Returns the seconds of the request's header or else of the key; 0 switches the cache off. @throws AppError `invalid`. */
function findCacheSeconds(header: string | undefined, { key }: Caller): number {
  if (header === undefined) return key?.cacheSeconds ?? 0
  const seconds = /^\d{1,6}$/.test(header.trim()) ? Number(header) : Number.NaN
  if (seconds <= MAX_CACHE_SECONDS) return seconds
  throw new AppError('invalid', `x-stead-cache must be a number of seconds from 0 to ${MAX_CACHE_SECONDS}`)
}

/**
 * Limits the requests of one bearer to the platform's rate or, where lower, the key's own. Counts bearers instead of
 * addresses because all agents of a machine share one. Runs after the guard, so made-up bearers create no counters.
 */
export function limitCaller(findLimit: () => number) {
  const ofKey = (c: Context) => {
    const caller: Caller | undefined = c.get('caller')
    return Math.min(caller?.key?.requestsPerMinute ?? Number.POSITIVE_INFINITY, findLimit())
  }
  const whoAsks = (c: Context) => {
    const caller: Caller | undefined = c.get('caller')
    if (caller?.key) return caller.key.id
    return caller && caller.agentId !== DIRECT
      ? caller.agentId
      : sha256(c.req.header('authorization') ?? c.req.header('x-api-key') ?? '')
  }
  return limitRate(ofKey, 'Too many requests, please slow down.', whoAsks)
}

/** Identifies callers and their plans: keys and agents by the database, headers only together with the internal key. */
export function createCallerFinder(deps: CallerDeps): CallerFinder {
  const findAgent = createAgentFinder(deps)
  const findByToken = createTokenFinder(deps, findAgent)
  /** A caller with provider keys of their own needs no plan. @throws the reason why there is no plan. */
  const toCaller = oncePer(({ planned, ...caller }: Found): Caller => {
    if (!(planned instanceof AppError)) return { ...caller, plan: planned }
    if (deps.ownKeys.list(caller.userId).length === 0) throw planned
    return { ...caller, plan: NO_PLAN }
  })
  /** Agents also get their own daily budget. */
  const requirePlanOrOwnKeys = (found: Found): Caller => {
    const budget = found.agentId === DIRECT ? undefined : deps.breakers.budgetOf(found.agentId)
    return budget ? { ...toCaller(found), budget } : toCaller(found)
  }

  /** Finds the user that the internal key acts for when the headers name no plan. */
  const findKnown = (header: Headers): Found | null => {
    const user = header('x-user-plan') === undefined ? deps.findUser(header('x-user-id') ?? '') : null
    return user && toDirect(deps.db, user)
  }

  return {
    requirePlannedCaller(header, client) {
      const known = findByToken(bearerOf(header), client)
      if (known) return requirePlanOrOwnKeys(known)
      // Without the internal key an address would show by 401 or 402 whether it is an administrator's.
      const { internalApiKey } = deps
      const isService = internalApiKey !== undefined && isSameSecret(bearerOf(header) ?? '', internalApiKey)
      const rules = isService ? deps.rules : { ...deps.rules, adminEmails: [] }
      const caller = requirePlanOrOwnKeys(findByHeaders(header, { db: deps.db, rules }))
      requireServiceBearer(header, deps.internalApiKey)
      return caller
    },
    requireBearer(given, client) {
      const header = acceptApiKey(given)
      const known = findByToken(bearerOf(header), client)
      if (known) return requirePlanOrOwnKeys(known)
      requireGatewayBearer(header, deps.internalApiKey)
      return requirePlanOrOwnKeys(findByHeaders(header, deps))
    },
    identify(header, client) {
      const known = findByToken(bearerOf(header), client)
      if (!known) requireServiceBearer(header, deps.internalApiKey)
      return toUnplanned(known ?? findKnown(header) ?? findByHeaders(header, deps))
    },
    identifyBearer(given, client) {
      const header = acceptApiKey(given)
      const known = findByToken(bearerOf(header), client)
      if (!known) requireGatewayBearer(header, deps.internalApiKey)
      return toUnplanned(known ?? findKnown(header) ?? findByHeaders(header, deps))
    },
    requireAgentToken(header) {
      const token = bearerOf(header)
      const agent = token?.startsWith(AGENT_TOKEN_PREFIX) ? findAgent(sha256(token)) : null
      if (!agent) throw new AppError('unauthenticated', 'Unauthorized')
      if (agent.user?.disabledAt) throw accountDisabled()
      return agent.agentId
    },
    callerOfUser: (user) => requirePlanOrOwnKeys(toDirect(deps.db, user)),
  }
}

/**
 * Finds the caller of an agent's token or an `sk_` key. Rows stay the same object until something is written, so what is
 * derived from them is computed once.
 */
function createTokenFinder(deps: CallerDeps, findAgent: ReturnType<typeof createAgentFinder>) {
  const findGuard = createGuardFinder(deps.egress)
  const toFoundAgent = oncePer(
    (agent: AgentOfToken): Found => ({ ...toAgentCaller(deps, agent), guard: findGuard(agent.guardrails) }),
  )
  const toFoundHolder = oncePer((holder: KeyHolder): Found => {
    requireScope(holder.scopes, 'models')
    const user = toSignedInUser(holder, deps.rules)
    const { key } = holder
    const payer = { userId: user.id, planned: planOfUser(deps.db, user) }
    return { ...payer, agentId: DIRECT, key, aiProvider: null, guard: findGuard(key.guardrails) }
  })

  const findByAgentToken = (token: string): Found | null => {
    const agent = findAgent(sha256(token))
    if (!agent) return null
    deps.touchAgent(agent.agentId)
    return toFoundAgent(agent)
  }
  return (token: string | null, client: Client): Found | null => {
    if (token?.startsWith(AGENT_TOKEN_PREFIX)) return findByAgentToken(token)
    if (!token?.startsWith('sk_')) return null
    const holder = deps.verifyKey(token, client)
    return holder && toFoundHolder(holder)
  }
}

/** @throws AppError `forbidden` ACCOUNT_DISABLED. */
function toAgentCaller(
  { db, rules }: Pick<CallerDeps, 'db' | 'rules'>,
  { agentId, logBodies, user: owner, ...agent }: AgentOfToken,
): Found {
  const aiProvider = toProviderId(agent.aiProvider)
  // An agent without an owner belongs to the operator and has no plan limit.
  if (!owner) return { userId: 'operator', agentId, planned: PLANS.network, key: null, aiProvider }
  if (owner.disabledAt) throw accountDisabled()
  const user = toSignedInUser(owner, rules)
  return { userId: user.id, agentId, planned: planOfUser(db, user), key: null, aiProvider, logBodies }
}

/** Computes a value once for each object; errors are not kept. */
function oncePer<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    const value = compute(key)
    known.set(key, value)
    return value
  }
}

function toDirect(db: Db, user: SignedInUser): Found {
  return { userId: user.id, agentId: DIRECT, planned: planOfUser(db, user), key: null, aiProvider: null }
}

function accountDisabled(): AppError {
  return new AppError('forbidden', 'The account of this agent is disabled', { code: 'ACCOUNT_DISABLED' })
}

type AgentOfToken = NonNullable<ReturnType<ReturnType<typeof createAgentFinder>>>

/** A caller with a plan, or with the error that explains why there is none. */
type Found = Omit<Caller, 'plan'> & { planned: Plan | AppError }

function toUnplanned({ planned, ...caller }: Found): Caller {
  return { ...caller, plan: planned instanceof AppError ? NO_PLAN : planned }
}

function findByHeaders(header: Headers, { db, rules }: Pick<CallerDeps, 'db' | 'rules'>): Found {
  const userId = header('x-user-id') ?? 'anonymous'
  const isAdmin = rules.adminEmails.includes(header('x-user-email')?.toLowerCase() ?? '')
  const planned = isAdmin
    ? PLANS.network
    : planOrReason(db, header('x-user-plan'), header('x-billing-subscription-id') ?? null)
  return { userId, agentId: DIRECT, planned, key: null, aiProvider: null }
}

function planOfUser(db: Db, user: SignedInUser): Plan | AppError {
  return user.isAdmin ? PLANS.network : planOrReason(db, user.plan, user.subscriptionId)
}

/** The plan, or `payment_required` PLAN_REQUIRED or SUBSCRIPTION_REQUIRED. */
function planOrReason(db: Db, name: string | undefined, subscriptionId: string | null): Plan | AppError {
  const plan = findPlan(db, name)
  if (!plan) return planRequired()
  if (subscriptionId) return plan
  return new AppError('payment_required', 'Active subscription required. Subscribe at /pricing', {
    success: false,
    code: 'SUBSCRIPTION_REQUIRED',
  })
}

/** Agents may be made for `google`, whose own API is the provider `gemini`. */
function toProviderId(aiProvider: string): string {
  return aiProvider === 'google' ? 'gemini' : aiProvider
}

/** A key or agent token that matches nothing is a wrong credential, not a wrong internal key. */
function requireServiceBearer(header: Headers, internalApiKey: string | undefined): void {
  const token = bearerOf(header)
  if (token === null || token.startsWith('sk_') || token.startsWith(AGENT_TOKEN_PREFIX)) {
    throw new AppError('unauthenticated', 'Unauthorized')
  }
  requireKey(token, internalApiKey)
}

/** SDKs send a key here, so every bearer except the internal key is a wrong key. */
function requireGatewayBearer(header: Headers, internalApiKey: string | undefined): void {
  const isService = internalApiKey !== undefined && isSameSecret(bearerOf(header) ?? '', internalApiKey)
  if (!isService) throw new AppError('unauthenticated', 'Unauthorized')
}

function bearerOf(header: Headers): string | null {
  return readBearer(header('authorization'))
}

/** Reads `x-api-key`, where Anthropic's clients send their key, as the bearer when there is none. */
function acceptApiKey(header: Headers): Headers {
  const apiKey = header('x-api-key')
  if (!apiKey || bearerOf(header) !== null) return header
  return (name) => (name === 'authorization' ? `Bearer ${apiKey}` : header(name))
}

/** A replaced token stays valid this long, so that requests of its agent can finish. */
const RETIRING_MS = 5 * 60_000

/** Finds an agent by the hash of its token. The previous token is accepted for a while after a rotation. */
function createAgentFinder({ db, clock }: { db: Db; clock: Clock }) {
  const findPresent = createHashFinder(db, agents.accessTokenHash)
  const findRetiring = createHashFinder(db, agents.retiringTokenHash)
  return (hash: string) => {
    const present = findPresent(hash)
    if (present) return present
    const retiring = findRetiring(hash)
    const since = retiring?.tokensChangedAt?.getTime() ?? 0
    return retiring && clock.now().getTime() - since < RETIRING_MS ? retiring : null
  }
}

/** Finds the agent whose `column` holds a hash, with its owner. */
function createHashFinder(db: Db, column: typeof agents.accessTokenHash | typeof agents.retiringTokenHash) {
  const { aiProvider, tokensChangedAt, guardrails, logBodies } = agents
  const byHash = db
    .select({ agentId: agents.id, aiProvider, tokensChangedAt, guardrails, logBodies, user: identityColumns })
    .from(agents)
    .leftJoin(users, eq(users.id, agents.ownerId))
    .where(eq(column, parameter('hash')))
    .prepare()
  return memoize(db, (hash) => byHash.get({ hash }) ?? null)
}
