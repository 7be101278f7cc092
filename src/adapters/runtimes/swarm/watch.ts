import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { createBroadcast } from '../contract/events.ts'
import { BAD_CONFIGURATION_EXIT, isEngineUnavailable, type RuntimeEvent } from '../contract/runtime.ts'
import { LABELS } from '../engine/engine.ts'
import { giveUpInSwarm } from './agent.ts'
import { isUsable, type SwarmNode, type SwarmService } from './answers.ts'
import {
  type AgentService,
  findAgentService,
  findCurrent,
  listAgentServices,
  listEnded,
  listNodes,
  type SwarmRuntimeParts,
} from './cluster.ts'
import { hasBadConfiguration, type RestartCounter } from './inspection.ts'
import { moveInSwarm } from './moving.ts'
import { isScaledByHand, NODE_LABEL, wantedOf } from './spec.ts'
import { hasUnwantedTask, pinAgent, remind } from './waiting.ts'

/** `change` runs work on an agent when nothing else is pending for it. */
type SwarmWatchDeps = SwarmRuntimeParts & {
  log: Log
  counter: RestartCounter
  change: (agentId: string, work: () => Promise<void>) => Promise<void>
  wasRemovedHere: (agentId: string) => boolean
  moves: Moves
}

type SwarmWatch = {
  listen(signal: AbortSignal): AsyncIterable<RuntimeEvent>
  close(): void
}

type Seen = {
  generation: number
  liveTask: string | null
  ended: ReadonlySet<string>
  isWanted: boolean
  isScaledByHand: boolean
}

/**
 * Polls the swarm, whose events do not cover tasks. Publishes what it finds, and acts: keeps an agent with an invalid
 * configuration stopped, keeps stopped agents stopped, and lets agents of lost nodes start elsewhere.
 */
export function watchSwarm(given: Omit<SwarmWatchDeps, 'moves'>): SwarmWatch {
  const deps = { ...given, moves: createMoves(given.log) }
  const broadcast = createBroadcast<RuntimeEvent>()
  const lostSince = new Map<string, number>()
  let seen: Map<string, Seen> | null = null
  let hadGap = false
  let isClosed = false
  let timer: Timer

  const publish = (event: Omit<RuntimeEvent, 'at'>) => {
    if (event.type !== 'removed' || !deps.wasRemovedHere(event.id)) broadcast.publish({ ...event, at: new Date() })
  }
  const lookOnce = async () => {
    const [agents, nodes] = await Promise.all([listAgentServices(deps), listNodes(deps)])
    deps.counter.keep(new Set(agents.map(({ service }) => service.ID)))
    const now = new Map(agents.map((found) => [idOf(found), toSeen(found)]))
    for (const found of agents) deps.counter.count(found)
    if (seen) for (const event of compare(seen, now)) publish(event)
    if (hadGap) for (const id of now.keys()) publish({ id, type: 'changed' })
    seen = now
    hadGap = false
    noteLost(lostSince, nodes)
    const isLost = (id: string) => {
      const since = lostSince.get(id)
      const isLate = since !== undefined && performance.now() - since >= deps.timing.nodeGraceMs
      // A node that was removed from the swarm does not come back.
      return isLate || !nodes.has(id)
    }
    await Promise.all(agents.map((found) => lookAfter(deps, found, isLost)))
  }
  const run = async () => {
    try {
      await lookOnce()
    } catch (error) {
      hadGap = true
      if (!isEngineUnavailable(error)) deps.log.warn({ error: errorMessage(error) }, 'cannot look after agents')
    }
    if (!isClosed) timer = setTimeout(() => void run(), deps.timing.pollMs).unref()
  }
  void run()

  return {
    listen: (signal) => broadcast.listen(signal),
    close() {
      isClosed = true
      clearTimeout(timer)
      broadcast.end()
    },
  }
}

async function lookAfter(
  deps: SwarmWatchDeps,
  found: AgentService,
  isLost: (nodeId: string) => boolean,
): Promise<void> {
  const id = idOf(found)
  if (isToMove(found, isLost)) return deps.moves.start(id, () => moveAgent(deps, id, isLost))
  if (!needsCare(found)) return
  await deps.change(id, async () => {
    const now = await findAgentService(deps, id)
    if (!now || !needsCare(now)) return
    if (hasUnwantedTask(now)) {
      deps.log.warn({ agentId: id }, 'the swarm has started an agent that was stopped, and is told to end it')
      return remind(deps, now.service)
    }
    if (hasBadConfiguration(now)) return giveUpInSwarm(deps, now.service, BAD_CONFIGURATION_EXIT)
    await pinAgent(deps, now.service, findCurrent(now)?.NodeID ?? null)
  })
}

/** Moves in the background, because copying files takes minutes, during which other agents must be watched. */
type Moves = { start(agentId: string, move: () => Promise<void>): void }

/** Pause after a failed move. */
const MOVE_AGAIN_MS = 10_000

function createMoves(log: Log): Moves {
  const underWay = new Set<string>()
  return {
    start(agentId, move) {
      if (underWay.has(agentId)) return
      underWay.add(agentId)
      move()
        .then(() => underWay.delete(agentId))
        .catch((error) => {
          log.error({ agentId, error: errorMessage(error) }, 'the agent cannot be started on another machine yet')
          setTimeout(() => underWay.delete(agentId), MOVE_AGAIN_MS).unref()
        })
    },
  }
}

/** Returns whether a running agent has to leave its lost node, or is on its way. */
function isToMove({ service }: AgentService, isLost: (nodeId: string) => boolean): boolean {
  const wanted = wantedOf(service)
  const pinned = service.Spec.Labels[NODE_LABEL]
  return wanted === 'moving' || (wanted === 'running' && pinned !== undefined && isLost(pinned))
}

/** Starts an agent on another node. @throws AppError when its files cannot be brought there now. */
async function moveAgent(deps: SwarmWatchDeps, id: string, isLost: (nodeId: string) => boolean): Promise<void> {
  await deps.change(id, async () => {
    const now = await findAgentService(deps, id)
    if (!now || !isToMove(now, isLost)) return
    if (hasBadConfiguration(now)) return giveUpInSwarm(deps, now.service, BAD_CONFIGURATION_EXIT)
    await leaveLostNode(deps, now.service)
  })
}

async function leaveLostNode(deps: SwarmWatchDeps, service: SwarmService): Promise<void> {
  const about = { agentId: service.Spec.Labels[LABELS.agent], node: service.Spec.Labels[NODE_LABEL] }
  deps.log.warn(about, 'the machine of the agent is lost: it is started on another one')
  if (!(await moveInSwarm(deps, service))) {
    deps.log.error(about, 'there is no copy of what the agent had stored: it starts without')
  }
}

function needsCare(found: AgentService): boolean {
  if (wantedOf(found.service) !== 'running') return hasUnwantedTask(found)
  const isUnbound = found.service.Spec.Labels[NODE_LABEL] === undefined
  return hasBadConfiguration(found) || (isUnbound && findCurrent(found) !== null)
}

/** Records since when nodes cannot run agents: down, drained or removed. */
function noteLost(lostSince: Map<string, number>, nodes: ReadonlyMap<string, SwarmNode>): void {
  for (const [id, node] of nodes) {
    if (isUsable(node)) lostSince.delete(id)
    else if (!lostSince.has(id)) lostSince.set(id, performance.now())
  }
}

/** Returns the unrequested events between two polls. */
function compare(before: ReadonlyMap<string, Seen>, now: ReadonlyMap<string, Seen>): Omit<RuntimeEvent, 'at'>[] {
  const gone = [...before.keys()].filter((id) => !now.has(id)).map((id) => ({ id, type: 'removed' as const }))
  const others = [...now].flatMap(([id, seen]) => {
    const last = before.get(id)
    return last ? compareOne(last, seen).map((type) => ({ id, type })) : []
  })
  return [...gone, ...others]
}

function compareOne(before: Seen, now: Seen): RuntimeEvent['type'][] {
  if (before.isScaledByHand !== now.isScaledByHand) return ['changed']
  if (before.generation !== now.generation || !now.isWanted) return []
  const died = [...now.ended.difference(before.ended)].map(() => 'died' as const)
  const isAnother = now.liveTask !== null && now.liveTask !== before.liveTask
  // The first task of a start was requested.
  return isAnother && now.ended.size > 0 ? [...died, 'started'] : died
}

function toSeen(found: AgentService): Seen {
  const { service } = found
  return {
    generation: service.Spec.TaskTemplate.ForceUpdate,
    liveTask: findCurrent(found)?.ID ?? null,
    ended: listEnded(found),
    isWanted: wantedOf(service) === 'running',
    isScaledByHand: isScaledByHand(service),
  }
}

function idOf({ service }: AgentService): string {
  return service.Spec.Labels[LABELS.agent] ?? ''
}
