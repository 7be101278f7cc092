import { copyFile } from 'node:fs/promises'
import type { Objects } from '../../../adapters/objects/objects.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import type { KeptStates } from '../../../adapters/runtimes/swarm/cluster.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { findAgentRow } from '../registry/agents.ts'

export type KeptStatesDeps = { db: Db; clock: Clock; objects: Objects }

/**
 * The newest copy of an agent's files. `isFinal` says that the agent was stopped, so that its files have not changed
 * since.
 */
export type KeptState = { name: string; takenAt: Date; isFinal: boolean }

const STATES = 'states/'
/** Agent, time of the copy (UTC, hyphens instead of colons), and whether the agent was stopped. */
const NAME = /^states\/([^/]+)\/(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)\.(final|running)\.tar\.gz$/

/** Lists the newest copy of each agent's files. */
export async function listKeptStates(objects: Objects, prefix = STATES): Promise<Map<string, KeptState>> {
  const newest = new Map<string, KeptState>()
  // Sorted by name, which begins with the time.
  for (const { name } of await objects.list(prefix)) {
    const [, agentId = '', day, minutes, seconds, kind] = NAME.exec(name) ?? []
    if (kind === undefined) continue
    newest.set(agentId, { name, takenAt: new Date(`${day}:${minutes}:${seconds}`), isFinal: kind === 'final' })
  }
  return newest
}

/** Gives the swarm the newest copy of an agent's files. */
export function createKeptStates(objects: Objects): KeptStates {
  return {
    async use(agentId, work) {
      const kept = (await listKeptStates(objects, prefixOf(agentId))).get(agentId)
      if (!kept) return false
      await objects.use(kept.name, work)
      return true
    },
  }
}

/** Copies the files of an agent, running or not, to the objects. The former copy is deleted after that. */
export async function keepState(deps: KeptStatesDeps, runtime: Runtime, agentId: string): Promise<void> {
  const isStopped = (await runtime.inspect(agentId))?.state === 'stopped'
  await store(deps, agentId, isStopped, async (file) => {
    if (!runtime.copyState) throw new AppError('internal', `Agents of ${runtime.name} do not move`)
    await runtime.copyState(agentId, file)
  })
}

/** Deletes every copy of an agent's files, because they contain what was deleted since. The job makes a new copy. */
export async function removeKeptStates({ objects }: Pick<KeptStatesDeps, 'objects'>, agentId: string): Promise<void> {
  await objects.removeAll(prefixOf(agentId))
}

/** Wraps a runtime whose agents move: files that are restored are the agent's newest copy from then on. */
export function keepRestoredStates(runtime: Runtime, deps: KeptStatesDeps): Runtime {
  return {
    ...runtime,
    async restore(id, file) {
      await runtime.restore(id, file)
      await store(deps, id, true, (copy) => copyFile(file, copy))
    },
  }
}

async function store(
  { db, clock, objects }: KeptStatesDeps,
  agentId: string,
  isFinal: boolean,
  writeFile: (file: string) => Promise<void>,
): Promise<void> {
  const time = clock.now().toISOString().replaceAll(':', '-')
  const stored = `${prefixOf(agentId)}${time}.${isFinal ? 'final' : 'running'}.tar.gz`
  await objects.put(stored, writeFile)
  // An agent that was deleted in the meantime leaves no copy.
  if (!findAgentRow(db, agentId)) return objects.remove(stored)
  for (const { name } of await objects.list(prefixOf(agentId))) if (name < stored) await objects.remove(name)
}

function prefixOf(agentId: string): string {
  return `${STATES}${agentId}/`
}
