import type { Clock } from '../../../core/clock.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { type AgentAddresses, toUrl } from '../../agents/registry/address.ts'
import { listAgents } from '../../agents/registry/list.ts'
import { toShownStatus } from '../../agents/registry/status.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { countOutcomes } from '../../talk/swarms/outcomes.ts'
import type { ColonyAgent, ColonyDiagnostics, ColonySoul, ColonyTree } from './schemas.ts'

export type ColonyDeps = { db: Db; clock: Clock; addresses: AgentAddresses; appUrl: string }

/** What existing clients take for a colony without a wallet. */
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

const UNMEASURED_ROOT_SOUL = {
  total_cycles: 0,
  mode: 'unknown',
  active_plan: null,
  free_energy: null,
  brain: null,
  transformer: null,
} as const

/** What existing clients read of a soul, and nobody measures here. */
const UNMEASURED_SOUL: Omit<ColonySoul, 'active' | 'dormant'> = {
  total_cycles: 0,
  last_think_at: null,
  mode: 'unknown',
  tools_enabled: false,
  coding_enabled: false,
  cycle_health: null,
  active_plan: null,
  fitness: null,
  beliefs: [],
  goals: [],
  recent_thoughts: [],
  brain: null,
  transformer: null,
  benchmark: null,
  capability_profile: null,
  role: null,
  acceleration: null,
  cortex: null,
  genesis: null,
  hivemind: null,
  synthesis: null,
  evaluation: null,
  free_energy: null,
  lifecycle: null,
  degraded: true,
  detail: 'Cycles, beliefs, goals and fitness are not measured: they are 0, empty, false or null here.',
}

/** The user's agents as a colony. */
export function getColonyTree(deps: ColonyDeps, user: SignedInUser): ColonyTree {
  const rows = listOwn(deps, user)
  return {
    colony_size: rows.length,
    avg_fitness: 0,
    fittest: null,
    cull_queue: 0,
    agents: toColony(deps, rows),
    degraded: true,
    detail: 'Fitness, cycles and the wallet of the colony are not measured: they are 0 or null here.',
    root: toRoot(deps, rows.some(isRunning)),
  }
}

/** The root of the colony is the platform itself. */
function toRoot({ appUrl }: ColonyDeps, isActive: boolean): ColonyTree['root'] {
  return {
    address: ZERO_ADDRESS,
    designation: null,
    dashboardUrl: appUrl,
    serviceUrl: appUrl,
    fitness: null,
    wallet_balance: null,
    clone_available: false,
    clone_price: '0',
    soul: { active: isActive, dormant: !isActive, ...UNMEASURED_ROOT_SOUL },
    colony: null,
  }
}

/** Agents here have no soul that could be read: only whether one of them runs is known. */
export function getColonySoul(deps: ColonyDeps, user: SignedInUser): ColonySoul {
  const isActive = listOwn(deps, user).some(isRunning)
  return { active: isActive, dormant: !isActive, ...UNMEASURED_SOUL }
}

/** How the tasks of the user's swarms ended. */
export function getColonyDiagnostics({ db }: ColonyDeps, user: SignedInUser): ColonyDiagnostics {
  const outcomes = countOutcomes(db, user.id)
  return {
    overview: toOverview(outcomes),
    error_distribution: outcomes
      .filter(({ state }) => state === 'failed')
      .map(({ errorKind, count }) => ({ category: errorKind ?? 'unknown', count }))
      .sort((one, other) => other.count - one.count),
    stagnation: { cycles_since_commit: 0, risk_level: 'unknown', cycles_until_reset: 0 },
    capability_bottleneck: null,
    recommendations: [],
    degraded: true,
    detail: 'Cycles and capabilities are not measured: they are 0 or null here.',
  }
}

function toOverview(outcomes: ReturnType<typeof countOutcomes>): ColonyDiagnostics['overview'] {
  const sum = (state: 'completed' | 'failed') =>
    outcomes.reduce((total, outcome) => total + (outcome.state === state ? outcome.count : 0), 0)
  const [completed, failed] = [sum('completed'), sum('failed')]
  const success_rate = completed === 0 ? 0 : completed / (completed + failed)
  return { total_outcomes: completed + failed, completed, failed, success_rate }
}

function listOwn({ db }: ColonyDeps, user: SignedInUser): AgentRow[] {
  return listAgents(db, { kind: 'user', user })
}

/** Parents are told by their id, and children are counted among the user's own agents. */
function toColony(deps: ColonyDeps, rows: AgentRow[]): ColonyAgent[] {
  const colony = rows.map((row) => toColonyAgent(deps, row))
  return colony.map((agent) => ({ ...agent, children: colony.filter(({ parent }) => parent === agent.id).length }))
}

function toColonyAgent({ clock, addresses }: ColonyDeps, row: AgentRow): ColonyAgent {
  const runsSince = isRunning(row) ? row.startedAt : null
  return {
    id: row.id,
    name: row.name,
    ...lineageOf(row),
    fitness: 0,
    children: 0,
    walletAddress: null,
    // One that sleeps wakes when it is needed.
    status: isRunning(row) || row.status === 'sleeping' ? 'active' : 'stale',
    createdAt: row.createdAt.toISOString(),
    url: toUrl(row.id, addresses),
    endpoints: [],
    uptime: runsSince ? Math.floor((clock.now().getTime() - runsSince.getTime()) / 1000) : 0,
    version: VERSION,
  }
}

/** Clones are a generation further than what they were cloned from. */
function lineageOf(row: AgentRow): Pick<ColonyAgent, 'generation' | 'specialization' | 'parent'> {
  return { generation: row.generation, specialization: row.specialization ?? 'general', parent: row.parentId }
}

function isRunning(agent: AgentRow): boolean {
  return toShownStatus(agent) === 'running'
}
