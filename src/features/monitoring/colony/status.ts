import { and, eq, inArray, max, sql } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { CLONE_PRICE } from '../../agents/cloning/clone.ts'
import { type AgentAddresses, toUrl } from '../../agents/registry/address.ts'
import { listAgents } from '../../agents/registry/agents.ts'
import { toShownStatus } from '../../agents/registry/status.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { toolDays, usageLogs } from '../../ai/usage/tables.ts'
import type { Base } from '../../base.ts'
import { countOutcomes } from '../../conversations/swarms/runs.ts'
import { readTokenBalance, type TokenChains } from '../../payments/wallets/balance.ts'
import { managedWallets, type WalletRow } from '../../payments/wallets/tables.ts'
import { type Rating, rateAgent, readAgentRecords } from '../../payments/x402/rating.ts'
import { countQuestions } from '../metrics/queries.ts'
import { listNulls } from '../metrics/summary.ts'
import type { ColonyAgent, ColonyDiagnostics, ColonySoul, ColonyTree } from './schemas.ts'

export type ColonyStatusDeps = Base & {
  addresses: AgentAddresses
  appUrl: string
  tokenChains: TokenChains
  clonePayments: { terms: { isConfigured: boolean } }
}

/** Existing clients expect this address when there is no wallet. */
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`
/** Agents with enough events and a fitness below this are in the cull queue. */
const WEAK = 40
/** Tools with fewer calls are not judged. */
const LEAST_CALLS = 10
const DETAIL = 'Null fields are listed in degraded: the platform records no such fact.'

type Member = { row: AgentRow; rating: Rating; wallet: WalletRow | null }

export async function getColonyTree(deps: ColonyStatusDeps, user: SignedInUser): Promise<ColonyTree> {
  const members = listMembers(deps, user)
  const { root, problem } = await toRoot(deps, user, members)
  const agents = toColony(deps, members)
  const [fittest] = agents.filter(({ fitness }) => fitness > 0).sort((one, other) => other.fitness - one.fitness)
  return {
    colony_size: members.length,
    avg_fitness: mean(members.map(({ rating }) => rating.score)),
    fittest: fittest ?? null,
    cull_queue: members.filter(({ rating }) => rating.tier !== 'new' && rating.score < WEAK).length,
    agents,
    root,
    degraded: listNulls({ root }),
    detail: problem === null ? DETAIL : `${DETAIL} Wallet balance: ${problem}.`,
  }
}

type Root = { root: ColonyTree['root']; problem: string | null }

/** Describes the platform itself as the root of the colony, with the user's wallet. */
async function toRoot(deps: ColonyStatusDeps, user: SignedInUser, members: Member[]): Promise<Root> {
  const isActive = members.some(({ row }) => isRunning(row))
  const wallet = findUserWallet(deps.db, user.id)
  const { balance, problem } = await readWalletBalance(deps, wallet)
  const canClone = deps.clonePayments.terms.isConfigured
  const root = {
    address: wallet?.address ?? ZERO_ADDRESS,
    designation: null,
    dashboardUrl: deps.appUrl,
    serviceUrl: deps.appUrl,
    fitness: members.length === 0 ? null : toRootFitness(members),
    wallet_balance: balance,
    clone_available: canClone,
    clone_price: CLONE_PRICE,
    soul: {
      active: isActive,
      dormant: !isActive,
      total_cycles: null,
      mode: null,
      active_plan: null,
      free_energy: null,
      brain: null,
      transformer: null,
    },
    colony: {
      rank: null,
      can_spawn: canClone,
      should_cull: null,
      niche: null,
      colony_size: members.length,
      fitness_rank: rankByFitness(members),
    },
  }
  return { root, problem }
}

function toRootFitness(members: Member[]) {
  const { total, prediction, execution } = averageFitness(members)
  return { total, prediction, execution }
}

function rankByFitness(members: Member[]): { address: string; fitness: number; rank: number }[] {
  return members
    .flatMap(({ wallet, rating }) => (wallet ? [{ address: wallet.address, fitness: rating.score }] : []))
    .sort((one, other) => other.fitness - one.fitness)
    .map((entry, index) => ({ ...entry, rank: index + 1 }))
}

/** Reads the USDC balance; null with the reason when there is no wallet or the chain cannot be read. */
async function readWalletBalance({ tokenChains }: ColonyStatusDeps, wallet: WalletRow | null) {
  if (!wallet) return { balance: null, problem: 'the user has no wallet' }
  try {
    const held = await readTokenBalance(tokenChains, 'USDC', wallet.address)
    const formatted = `${formatMicroUsd(Number(held), 2)} USDC`
    return { balance: { formatted, token: tokenChains.USDC.terms.token }, problem: null }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { balance: null, problem: error.message }
  }
}

/** Fills the fields of the format's `soul` object that the platform records. */
export function getColonySoul(deps: ColonyStatusDeps, user: SignedInUser): ColonySoul {
  const members = listMembers(deps, user)
  const isActive = members.some(({ row }) => isRunning(row))
  const soul = {
    active: isActive,
    dormant: !isActive,
    total_cycles: null,
    last_think_at: readLastCall(deps.db, user.id),
    mode: null,
    tools_enabled: null,
    coding_enabled: null,
    cycle_health: null,
    active_plan: null,
    fitness: members.length === 0 ? null : toSoulFitness(deps, members),
    beliefs: null,
    goals: null,
    recent_thoughts: null,
    brain: null,
    transformer: null,
    benchmark: null,
    capability_profile: toCapabilityProfile(listCapabilities(deps.db, user.id)),
    role: {
      colony_size: members.length,
      rank: null,
      self_fitness: averageFitness(members).total,
      psi: null,
      phase3_ready: null,
      can_spawn: deps.clonePayments.terms.isConfigured,
    },
    acceleration: null,
    cortex: null,
    genesis: null,
    hivemind: null,
    synthesis: null,
    evaluation: null,
    free_energy: null,
    lifecycle: null,
  }
  return { ...soul, degraded: listNulls(soul), detail: DETAIL }
}

function toSoulFitness({ clock }: ColonyStatusDeps, members: Member[]) {
  const unknown = { trend: null, economic: null, evolution: null, introspection: null }
  return { ...averageFitness(members), ...unknown, measured_at: clock.now().getTime() }
}

/** Returns the time of the newest model call in milliseconds; null before the first. */
function readLastCall(db: Db, userId: string): number | null {
  const newest = db
    .select({ at: max(usageLogs.createdAt) })
    .from(usageLogs)
    .where(eq(usageLogs.userId, userId))
    .get()
  return newest?.at?.getTime() ?? null
}

type Capability = {
  capability: string
  display_name: string
  attempts: number
  successes: number
  success_rate: number
}

/** Lists the tools that the user's agents called, most calls first. `success_rate` is a fraction of 1. */
function listCapabilities(db: Db, userId: string): Capability[] {
  const attempts = sql<number>`sum(${toolDays.calls})`
  const successes = sql<number>`sum(${toolDays.successes})`
  const rows = db
    .select({ capability: toolDays.toolName, attempts, successes })
    .from(toolDays)
    .where(eq(toolDays.userId, userId))
    .groupBy(toolDays.toolName)
    .orderBy(sql`sum(${toolDays.calls}) desc`, toolDays.toolName)
    .all()
  return rows.map((row) => ({ ...row, display_name: row.capability, success_rate: shareOf(row) }))
}

function toCapabilityProfile(capabilities: Capability[]): ColonySoul['capability_profile'] {
  if (capabilities.length === 0) return null
  const sum = (field: 'attempts' | 'successes') => capabilities.reduce((total, one) => total + one[field], 0)
  const bySuccess = [...capabilities].sort((one, other) => other.success_rate - one.success_rate)
  return {
    overall_success_rate: shareOf({ attempts: sum('attempts'), successes: sum('successes') }),
    strongest: bySuccess[0]?.capability ?? null,
    weakest: bySuccess.at(-1)?.capability ?? null,
    capabilities,
  }
}

function shareOf({ attempts, successes }: { attempts: number; successes: number }): number {
  return attempts === 0 ? 0 : Math.round((successes * 1000) / attempts) / 1000
}

/** Summarizes the outcomes of the user's swarm tasks and tool calls. */
export function getColonyDiagnostics({ db }: ColonyStatusDeps, user: SignedInUser): ColonyDiagnostics {
  const outcomes = countOutcomes(db, user.id)
  const stagnation = { cycles_since_commit: null, risk_level: null, cycles_until_reset: null }
  return {
    overview: toOverview(outcomes),
    error_distribution: outcomes
      .filter(({ state }) => state === 'failed')
      .map(({ errorKind, count }) => ({ category: errorKind ?? 'unknown', count }))
      .sort((one, other) => other.count - one.count),
    stagnation,
    capability_bottleneck: findBottleneck(listCapabilities(db, user.id)),
    recommendations: null,
    degraded: listNulls({ stagnation, recommendations: null }),
    detail: DETAIL,
  }
}

/** Returns the tool that fails most; null when none has failed or been called often enough. */
function findBottleneck(capabilities: Capability[]): ColonyDiagnostics['capability_bottleneck'] {
  const failing = capabilities.filter(({ attempts, successes }) => attempts >= LEAST_CALLS && successes < attempts)
  const [worst] = failing.sort((one, other) => one.success_rate - other.success_rate)
  if (!worst) return null
  const { capability, attempts, success_rate } = worst
  return { capability, success_rate: `${Math.round(success_rate * 100)}%`, attempts }
}

function toOverview(outcomes: ReturnType<typeof countOutcomes>): ColonyDiagnostics['overview'] {
  const sum = (state: 'completed' | 'failed') =>
    outcomes.reduce((total, outcome) => total + (outcome.state === state ? outcome.count : 0), 0)
  const [completed, failed] = [sum('completed'), sum('failed')]
  const success_rate = completed === 0 ? 0 : completed / (completed + failed)
  return { total_outcomes: completed + failed, completed, failed, success_rate }
}

function listMembers(deps: ColonyStatusDeps, user: SignedInUser): Member[] {
  const rows = listAgents(deps.db, { kind: 'user', user })
  const ids = rows.map(({ id }) => id)
  const { db, clock } = deps
  const records = readAgentRecords(
    { db, clock, countQuestions: (agentIds) => countQuestions(db, agentIds) },
    user.id,
    ids,
  )
  const wallets = listWalletsOf(db, ids)
  return rows.flatMap((row) => {
    const own = records.get(row.id)
    return own ? [{ row, rating: rateAgent(own), wallet: wallets.get(row.id) ?? null }] : []
  })
}

function listWalletsOf(db: Db, agentIds: string[]): Map<string | null, WalletRow> {
  const rows = db.select().from(managedWallets).where(inArray(managedWallets.agentId, agentIds)).all()
  return new Map(rows.map((row) => [row.agentId, row]))
}

function findUserWallet(db: Db, userId: string): WalletRow | null {
  const isOwn = and(eq(managedWallets.userId, userId), eq(managedWallets.kind, 'user'))
  return db.select().from(managedWallets).where(isOwn).get() ?? null
}

/** Returns the rounded means over the members, 0 without members. */
function averageFitness(members: Member[]) {
  const average = (read: (rating: Rating) => number) => mean(members.map(({ rating }) => read(rating)))
  return {
    total: average(({ score }) => score),
    coordination: average(({ details }) => details.coordination),
    execution: average(({ details }) => details.execution),
    prediction: average(({ details }) => details.prediction),
  }
}

function mean(scores: number[]): number {
  return scores.length === 0 ? 0 : Math.round(scores.reduce((sum, score) => sum + score, 0) / scores.length)
}

/** `parent` is an agent id; `children` counts clones among the user's own agents. */
function toColony(deps: ColonyStatusDeps, members: Member[]): ColonyAgent[] {
  const colony = members.map((member) => toColonyAgent(deps, member))
  return colony.map((agent) => ({ ...agent, children: colony.filter(({ parent }) => parent === agent.id).length }))
}

function toColonyAgent({ clock, addresses }: ColonyStatusDeps, { row, rating, wallet }: Member): ColonyAgent {
  const runsSince = isRunning(row) ? row.startedAt : null
  return {
    id: row.id,
    name: row.name,
    ...lineageOf(row),
    fitness: rating.score,
    children: 0,
    walletAddress: wallet?.address ?? null,
    // A sleeping agent wakes when it is needed.
    status: isRunning(row) || row.status === 'sleeping' ? 'active' : 'stale',
    createdAt: row.createdAt.toISOString(),
    url: toUrl(row.id, addresses),
    endpoints: [],
    uptime: runsSince ? Math.floor((clock.now().getTime() - runsSince.getTime()) / 1000) : 0,
    version: VERSION,
  }
}

/** A clone's generation is its parent's plus one. */
function lineageOf(row: AgentRow): Pick<ColonyAgent, 'generation' | 'specialization' | 'parent'> {
  return { generation: row.generation, specialization: row.specialization ?? 'general', parent: row.parentId }
}

function isRunning(agent: AgentRow): boolean {
  return toShownStatus(agent) === 'running'
}
