import type Docker from 'dockerode'
import { AppError } from '../../../core/errors.ts'
import { portTaken } from '../contract/runtime.ts'
import { STOP_SECONDS } from '../engine/container.ts'
import { hasStatus, LABELS } from '../engine/engine.ts'
import { findExitCode, hasTaskEnded, mayTaskRun, type SwarmService, type SwarmTask, wasTaskStarted } from './answers.ts'
import {
  type AgentService,
  changeService,
  findAgentService,
  findCurrent,
  findOwnNode,
  findTaskContainer,
  generationOf,
  getAgentService,
  listAgentTasks,
  listNodes,
  listUnended,
  type SwarmRuntimeParts,
} from './cluster.ts'
import { NODE_LABEL, withNode } from './spec.ts'

/** On another node a failing start fails within this time. */
const STEADY_MS = 1500
/** A failed task seems to hold its port until the swarm has removed it. */
const PORT_STEADY_MS = 6000
const MAX_FAILURES = 3
const PORT_IN_USE = /port is already allocated|address already in use/i
const PORT_WANTED = /host-mode port already in use/i

/** Binds the agent to the node with its files, or to none for null. A running task continues. */
export async function pinAgent(deps: SwarmRuntimeParts, service: SwarmService, nodeId: string | null): Promise<void> {
  if ((service.Spec.Labels[NODE_LABEL] ?? null) === nodeId) return
  await changeService(deps, service, (spec) => withNode(spec, nodeId))
}

/**
 * Waits for a process of the agent's last start, which may have ended again, and binds the agent to its node.
 * @throws AppError `conflict` {code: 'PORT_TAKEN'}, `internal` when no node can start it.
 */
export async function waitUntilStarted(deps: SwarmRuntimeParts, id: string): Promise<void> {
  const deadline = performance.now() + deps.timing.startMs
  const seen = new Map<string, number>()
  for (;;) {
    const found = await getAgentService(deps, id)
    const started = await findStarted(deps, found, seen)
    if (started) return pinAgent(deps, found.service, started.NodeID)
    const failure = findFailure(found, seen)
    if (failure) throw failure
    if (performance.now() > deadline) throw cannotStart(generationOf(found).at(-1)?.Status.Err ?? '')
    await Bun.sleep(LOOK_AGAIN_MS)
  }
}

/** Returns a task whose process certainly exists or existed. `seen` holds when each state was first seen. */
async function findStarted(
  deps: SwarmRuntimeParts,
  found: AgentService,
  seen: Map<string, number>,
): Promise<SwarmTask | null> {
  const ran = generationOf(found).find((task) => findExitCode(task) !== null)
  if (ran) return ran
  const task = findCurrent(found)
  if (!task) return null
  if (task.Status.State === 'running') return task
  const self = await findOwnNode(deps)
  // Until its node reports the process, the swarm says only that the task is starting.
  if (task.NodeID !== self) return isSteady(seen, task) ? task : null
  const container = await findTaskContainer(deps, task)
  return container?.State.Running ? task : null
}

function findFailure(found: AgentService, seen: Map<string, number>): AppError | null {
  const port = Number(found.service.Spec.Labels[LABELS.port])
  const tasks = generationOf(found)
  if (tasks.some(({ Status }) => PORT_IN_USE.test(Status.Err))) return portTaken(port)
  // The agent's own previous process may hold the port briefly.
  const isAlone = !found.tasks.some((task) => !tasks.includes(task) && mayTaskRun(task))
  if (isAlone && tasks.some((task) => PORT_WANTED.test(task.Status.Err) && isSteady(seen, task, PORT_STEADY_MS)))
    return portTaken(port)
  const failures = tasks.filter((task) => hasTaskEnded(task) && task.Status.Err !== '')
  return failures.length >= MAX_FAILURES ? cannotStart(failures.at(-1)?.Status.Err ?? '') : null
}

function isSteady(seen: Map<string, number>, { ID, Status }: SwarmTask, steadyMs = STEADY_MS): boolean {
  const key = `${ID} ${Status.State}`
  const since = seen.get(key) ?? performance.now()
  seen.set(key, since)
  return performance.now() - since >= steadyMs
}

function cannotStart(reason: string): AppError {
  const cause = new Error(reason || 'It took too long')
  return new AppError('internal', 'No machine of the swarm could start the agent', {}, { cause })
}

/** Polling interval while waiting. */
const LOOK_AGAIN_MS = 100
/** A busy node reports late that a task has ended. */
const END_MS = (STOP_SECONDS + 90) * 1000
const REMIND_MS = 2000

/** Waits for the end of an agent that was scaled down. @throws AppError `internal` when it does not end. */
export async function waitUntil(deps: SwarmRuntimeParts, id: string, isEnded: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + END_MS
  let remindAt = performance.now() + REMIND_MS
  while (!(await isEnded())) {
    if (performance.now() > deadline) throw new AppError('internal', 'The swarm did not end the agent')
    if (performance.now() > remindAt) {
      remindAt += REMIND_MS
      const found = await findAgentService(deps, id)
      if (found && hasUnwantedTask(found)) await remind(deps, found.service)
    }
    await Bun.sleep(LOOK_AGAIN_MS)
  }
}

/**
 * Returns whether a task is active although the service is scaled down. Docker 20.10 starts another task when the
 * scaling coincides with the end of one, and keeps it running: the stopped agent would go on and cost money.
 */
export function hasUnwantedTask({ service, tasks }: AgentService): boolean {
  return service.Spec.Mode.Replicated.Replicas === 0 && tasks.some((task) => !hasTaskEnded(task))
}

/** Sends the spec again, which makes the swarm check all tasks. */
export async function remind(deps: SwarmRuntimeParts, service: SwarmService): Promise<void> {
  await changeService(deps, service, (spec) => spec)
}

/** Returns whether the swarm reports no process on responding nodes. */
export async function isGone(deps: SwarmRuntimeParts, id: string): Promise<boolean> {
  const [tasks, nodes] = await Promise.all([listAgentTasks(deps, id), listNodes(deps)])
  return listUnended(tasks, nodes).length === 0
}

/** Returns whether the agent has no process and will get none. */
export async function hasEndedEverywhere(deps: SwarmRuntimeParts, id: string): Promise<boolean> {
  const [found, nodes, self] = await Promise.all([findAgentService(deps, id), listNodes(deps), findOwnNode(deps)])
  if (found && hasUnwantedTask(found)) return false
  const unended = listUnended(found?.tasks ?? [], nodes)
  const ended = await Promise.all(unended.map((task) => task.NodeID === self && hasEndedHere(deps, task)))
  return !ended.includes(false)
}

/** Returns whether a process on this node has ended, seconds before the swarm reports it. */
async function hasEndedHere(deps: SwarmRuntimeParts, task: SwarmTask): Promise<boolean> {
  if (!wasTaskStarted(task)) return false
  const state = (await findTaskContainer(deps, task))?.State
  return state === undefined || (!state.Running && !state.StartedAt.startsWith('0001-'))
}

/** Ends the agent's containers on this node, because the swarm takes seconds to do so. */
export async function endHere(
  deps: SwarmRuntimeParts,
  { tasks }: AgentService,
  end: (container: Docker.Container) => Promise<unknown>,
): Promise<void> {
  const self = await findOwnNode(deps)
  const here = tasks.filter((task) => task.NodeID === self && wasTaskStarted(task))
  for (const id of here.flatMap((task) => task.Status.ContainerStatus?.ContainerID || [])) {
    try {
      await deps.engine.change((docker) => end(docker.getContainer(id)))
    } catch (error) {
      // The task has ended or was removed.
      if (!hasStatus(error, 304, 404, 409)) throw error
    }
  }
}

/** Retries a removal: an ended task holds its resources for some seconds. */
export async function untilReleased(what: string, remove: () => Promise<unknown>): Promise<void> {
  for (const deadline = performance.now() + END_MS; ; await Bun.sleep(LOOK_AGAIN_MS)) {
    try {
      await remove()
      return
    } catch (error) {
      if (error instanceof AppError) throw error
      if (!hasStatus(error, 400, 403, 409) || performance.now() > deadline) {
        throw new AppError('internal', `The agent's ${what} cannot be deleted`, {}, { cause: error })
      }
    }
  }
}
