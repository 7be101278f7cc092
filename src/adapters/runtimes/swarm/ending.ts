import type Docker from 'dockerode'
import { AppError } from '../../../core/errors.ts'
import { STOP_SECONDS } from '../engine/container.ts'
import { hasStatus } from '../engine/engine.ts'
import { hasEnded, type Service, type Task, wasStarted } from './answers.ts'
import {
  changeService,
  type Found,
  findAgent,
  findContainer,
  findOwnNode,
  listNodes,
  listTasks,
  listUnended,
  type SwarmDeps,
} from './cluster.ts'

/** Between two looks at what is about to happen. */
export const LOOK_AGAIN_MS = 100
/** A busy machine of the swarm tells late that a task has ended. */
const END_MS = (STOP_SECONDS + 90) * 1000
const REMIND_MS = 2000

/** Waits for the end of an agent that was scaled down. @throws AppError `internal` when it does not end. */
export async function waitUntil(deps: SwarmDeps, id: string, isEnded: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + END_MS
  let remindAt = performance.now() + REMIND_MS
  while (!(await isEnded())) {
    if (performance.now() > deadline) throw new AppError('internal', 'The swarm did not end the agent')
    if (performance.now() > remindAt) {
      remindAt += REMIND_MS
      const found = await findAgent(deps, id)
      if (found && hasStray(found)) await remind(deps, found.service)
    }
    await Bun.sleep(LOOK_AGAIN_MS)
  }
}

/**
 * Is a task of it wanted though it is scaled down? A swarm that is told so in the moment in which a task dies starts another,
 * and lets that one run on (Docker 20.10): an agent that was stopped works then, and costs.
 */
export function hasStray({ service, tasks }: Found): boolean {
  return service.Spec.Mode.Replicated.Replicas === 0 && tasks.some((task) => !hasEnded(task))
}

/** Tells the swarm again what it was told, upon which it looks at all tasks. */
export async function remind(deps: SwarmDeps, service: Service): Promise<void> {
  await changeService(deps, service, (spec) => spec)
}

/** Does the swarm say so? Machines that do not answer are left out. */
export async function isGone(deps: SwarmDeps, id: string): Promise<boolean> {
  const [tasks, nodes] = await Promise.all([listTasks(deps, id), listNodes(deps)])
  return listUnended(tasks, nodes).length === 0
}

/** Has it no process any more, and will it get none? */
export async function hasEndedEverywhere(deps: SwarmDeps, id: string): Promise<boolean> {
  const [found, nodes, self] = await Promise.all([findAgent(deps, id), listNodes(deps), findOwnNode(deps)])
  if (found && hasStray(found)) return false
  const unended = listUnended(found?.tasks ?? [], nodes)
  const ended = await Promise.all(unended.map((task) => task.NodeID === self && hasEndedHere(deps, task)))
  return !ended.includes(false)
}

/** Some seconds before the swarm says so, which first tells all other machines of it. */
async function hasEndedHere(deps: SwarmDeps, task: Task): Promise<boolean> {
  if (!wasStarted(task)) return false
  const state = (await findContainer(deps, task))?.State
  return state === undefined || (!state.Running && !state.StartedAt.startsWith('0001-'))
}

/** The swarm would wait for some seconds before it ends what runs here. */
export async function endHere(
  deps: SwarmDeps,
  { tasks }: Found,
  end: (container: Docker.Container) => Promise<unknown>,
): Promise<void> {
  const self = await findOwnNode(deps)
  const here = tasks.filter((task) => task.NodeID === self && wasStarted(task))
  for (const id of here.flatMap((task) => task.Status.ContainerStatus?.ContainerID || [])) {
    try {
      await deps.engine.change((docker) => end(docker.getContainer(id)))
    } catch (error) {
      // It has ended, or is gone.
      if (!hasStatus(error, 304, 404, 409)) throw error
    }
  }
}

/** A task that has ended holds what it had for some seconds more. */
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
