import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { type AgentAddresses, toUrl } from '../../agents/registry/address.ts'
import { listAgents } from '../../agents/registry/agents.ts'
import { toShownStatus } from '../../agents/registry/status.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { listTeams, type Team } from '../../conversations/swarms/runs.ts'
import { findLatestLoads } from '../metrics/queries.ts'
import type { FleetEdge, FleetGraph, FleetNode } from './schemas.ts'

const CENTER = { x: 400, y: 300 }
const RADIUS = 200
const RING = 12

/** Shown to anonymous visitors and when the fleet cannot be read. */
const PLACEHOLDER: FleetNode = {
  id: 'atlas',
  name: 'atlas',
  role: 'orchestrator',
  status: 'offline',
  ...CENTER,
  load: 0,
  memory: 0,
}

/** Returns the user's agents and their collaborations. Never fails: `degraded` when the rows cannot be read. */
export function getFleetGraph(
  deps: Base & { addresses: AgentAddresses; appUrl: string },
  user: SignedInUser | null,
): FleetGraph {
  if (!user) return toGraph(deps, [PLACEHOLDER], [], { source: 'unauthenticated' })
  try {
    const agents = listAgents(deps.db, { kind: 'user', user }).toReversed()
    const teams = listTeams(deps.db, user.id)
    const edges = [...listEdges(agents, teams), ...listParentEdges(agents)]
    return toGraph(deps, listNodes(deps, agents, teams), edges, { source: 'soul' })
  } catch (error) {
    deps.log.error({ error: errorMessage(error) }, 'mission control: cannot read the fleet')
    const why = { source: 'degraded', degraded: true, detail: 'The fleet could not be read' } as const
    return toGraph(deps, [PLACEHOLDER], [], why)
  }
}

function listNodes(deps: Base & { addresses: AgentAddresses }, agents: AgentRow[], teams: Team[]): FleetNode[] {
  const ids = agents.map(({ id }) => id)
  const loads = findLatestLoads(deps, ids)
  return agents.map((agent, index) => ({
    ...toNode(deps, agent, roleOf(agent.id, teams), index),
    load: loads.get(agent.id)?.cpuPercent ?? null,
    memory: loads.get(agent.id)?.memoryPercent ?? null,
  }))
}

/** Lists each pair of agents that took part in the same swarm runs; the summarizer is the target. */
export function listEdges(agents: { id: string }[], teams: Team[]): FleetEdge[] {
  const known = new Set(agents.map(({ id }) => id))
  const counts = new Map<string, { from: string; to: string; runs: number }>()
  for (const { members, summarizer } of teams) {
    for (const [from, to] of listPairs(members, summarizer)) {
      if (!known.has(from) || !known.has(to)) continue
      const id = `${from}:${to}`
      counts.set(id, { from, to, runs: (counts.get(id)?.runs ?? 0) + 1 })
    }
  }
  const most = Math.max(0, ...[...counts.values()].map(({ runs }) => runs))
  return [...counts].map(([id, { from, to, runs }]) => ({ id, from, to, strength: runs / most }))
}

/** Lists an edge from each clone's parent to the clone when both exist. */
function listParentEdges(agents: AgentRow[]): FleetEdge[] {
  const known = new Set(agents.map(({ id }) => id))
  return agents.flatMap(({ id, parentId }) =>
    parentId !== null && known.has(parentId) ? [{ id: `${parentId}>${id}`, from: parentId, to: id, strength: 1 }] : [],
  )
}

/** Pairs each member with the summarizer; without one, every two members in the order of their ids. */
function listPairs(members: string[], summarizer: string | null): [from: string, to: string][] {
  if (summarizer) return members.filter((id) => id !== summarizer).map((id) => [id, summarizer])
  const sorted = members.toSorted()
  return sorted.flatMap((from, index) => sorted.slice(index + 1).map((to): [string, string] => [from, to]))
}

function toNode(
  deps: { clock: Clock; addresses: AgentAddresses },
  agent: AgentRow,
  role: FleetNode['role'],
  index: number,
): Omit<FleetNode, 'load' | 'memory'> {
  const status = toFleetStatus(toShownStatus(agent))
  const runsSince = status === 'active' ? agent.startedAt : null
  return {
    id: agent.id,
    name: agent.name,
    role,
    status,
    ...placeOf(index),
    url: toUrl(agent.id, deps.addresses),
    ...(runsSince && { uptime: Math.floor((deps.clock.now().getTime() - runsSince.getTime()) / 1000) }),
  }
}

/** A summarizer is an orchestrator; a member of a team is a specialist. */
function roleOf(agentId: string, teams: Team[]): FleetNode['role'] {
  if (teams.some(({ summarizer }) => summarizer === agentId)) return 'orchestrator'
  return teams.some(({ members }) => members.includes(agentId)) ? 'specialist' : 'worker'
}

function toFleetStatus(status: AgentRow['status']): FleetNode['status'] {
  if (status === 'running') return 'active'
  return status === 'sleeping' || status === 'pending' || status === 'provisioning' ? 'idle' : 'offline'
}

/** Places agents on rings of twelve in creation order, so existing nodes do not move when one is added. */
function placeOf(index: number): { x: number; y: number } {
  const angle = (2 * Math.PI * (index % RING)) / RING
  const radius = RADIUS * (1 + Math.floor(index / RING))
  return { x: Math.round(CENTER.x + radius * Math.cos(angle)), y: Math.round(CENTER.y + radius * Math.sin(angle)) }
}

function toGraph(
  deps: { clock: Clock; appUrl: string },
  nodes: FleetNode[],
  edges: FleetEdge[],
  why: Pick<FleetGraph, 'source' | 'degraded' | 'detail'>,
): FleetGraph {
  return {
    nodes,
    edges,
    timestamp: deps.clock.now().toISOString(),
    ...why,
    nodeCount: nodes.length,
    stats: countByStatus(nodes),
    dashboardUrl: deps.appUrl,
  }
}

function countByStatus(nodes: FleetNode[]): FleetGraph['stats'] {
  const count = (wanted: FleetNode['status']) => nodes.filter(({ status }) => status === wanted).length
  return {
    totalAgents: nodes.length,
    activeAgents: count('active'),
    idleAgents: count('idle'),
    offlineAgents: count('offline'),
  }
}
