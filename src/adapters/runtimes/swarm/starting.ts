import { AppError } from '../../../core/errors.ts'
import { portTaken } from '../contract/runtime.ts'
import { LABELS } from '../engine/engine.ts'
import { findExitCode, hasEnded, mayRun, type Service, type Task } from './answers.ts'
import {
  changeService,
  type Found,
  findContainer,
  findCurrent,
  findOwnNode,
  generationOf,
  getAgent,
  type SwarmDeps,
} from './cluster.ts'
import { withNode } from './edits.ts'
import { LOOK_AGAIN_MS } from './ending.ts'
import { NODE_LABEL } from './spec.ts'

/** On another machine a start that fails does so within this time. */
const STEADY_MS = 1500
/** A task that just failed counts as holding its port until the swarm has put it away. */
const PORT_STEADY_MS = 6000
const MAX_FAILURES = 3
const PORT_IN_USE = /port is already allocated|address already in use/i
const PORT_WANTED = /host-mode port already in use/i

/** Lets it stay where its files are, or, with null, go where it can. Neither ends a running task. */
export async function pinAgent(deps: SwarmDeps, service: Service, nodeId: string | null): Promise<void> {
  if ((service.Spec.Labels[NODE_LABEL] ?? null) === nodeId) return
  await changeService(deps, service, (spec) => withNode(spec, nodeId))
}

/**
 * Waits for a process of the agent's last start, which may have ended again, and keeps the agent on the machine that has it.
 * @throws AppError `conflict` {code: 'PORT_TAKEN'}, `internal` when no machine can start it.
 */
export async function waitUntilStarted(deps: SwarmDeps, id: string): Promise<void> {
  const deadline = performance.now() + deps.timing.startMs
  const seen = new Map<string, number>()
  for (;;) {
    const found = await getAgent(deps, id)
    const started = await findStarted(deps, found, seen)
    if (started) return pinAgent(deps, found.service, started.NodeID)
    const failure = findFailure(found, seen)
    if (failure) throw failure
    if (performance.now() > deadline) throw cannotStart(generationOf(found).at(-1)?.Status.Err ?? '')
    await Bun.sleep(LOOK_AGAIN_MS)
  }
}

/** A task whose process is, or was, there for certain. `seen` holds when a state was first seen. */
async function findStarted(deps: SwarmDeps, found: Found, seen: Map<string, number>): Promise<Task | null> {
  const ran = generationOf(found).find((task) => findExitCode(task) !== null)
  if (ran) return ran
  const task = findCurrent(found)
  if (!task) return null
  if (task.Status.State === 'running') return task
  const self = await findOwnNode(deps)
  // Until its machine has told of the process the swarm says of a task only that it is starting.
  if (task.NodeID !== self) return isSteady(seen, task) ? task : null
  const container = await findContainer(deps, task)
  return container?.State.Running ? task : null
}

function findFailure(found: Found, seen: Map<string, number>): AppError | null {
  const port = Number(found.service.Spec.Labels[LABELS.port])
  const tasks = generationOf(found)
  if (tasks.some(({ Status }) => PORT_IN_USE.test(Status.Err))) return portTaken(port)
  // The agent's own last process may have the port for a moment.
  const isAlone = !found.tasks.some((task) => !tasks.includes(task) && mayRun(task))
  if (isAlone && tasks.some((task) => PORT_WANTED.test(task.Status.Err) && isSteady(seen, task, PORT_STEADY_MS)))
    return portTaken(port)
  const failures = tasks.filter((task) => hasEnded(task) && task.Status.Err !== '')
  return failures.length >= MAX_FAILURES ? cannotStart(failures.at(-1)?.Status.Err ?? '') : null
}

function isSteady(seen: Map<string, number>, { ID, Status }: Task, steadyMs = STEADY_MS): boolean {
  const key = `${ID} ${Status.State}`
  const since = seen.get(key) ?? performance.now()
  seen.set(key, since)
  return performance.now() - since >= steadyMs
}

function cannotStart(reason: string): AppError {
  const cause = new Error(reason || 'It took too long')
  return new AppError('internal', 'No machine of the swarm could start the agent', {}, { cause })
}
