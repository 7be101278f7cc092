import type { Objects } from '../../../adapters/objects/objects.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { listOperations } from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { getAgent } from '../registry/agents.ts'
import type { Snapshot } from './schemas.ts'

/** Snapshots kept per agent. */
const MAX_SNAPSHOTS = 3
const ENDING = '.tar.gz'
/** Request time of the change that the snapshot precedes: UTC, hyphens instead of colons. */
const NAME = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)\.tar\.gz$/

/** Returns the prefix of the objects with an agent's snapshots. */
export function snapshotsOf(agentId: string): string {
  return `backups/agents/${agentId}/`
}

/** Returns the name of a snapshot's object, which the API shows as its path. */
export function toBackupPath(agentId: string, name: string): string
export function toBackupPath(agentId: string, name: string | null): string | null
export function toBackupPath(agentId: string, name: string | null): string | null {
  return name && `${snapshotsOf(agentId)}${name}`
}

/**
 * Stores the state of a stopped agent under the operation's request time, so that a retry replaces it.
 * @returns the name, null when the agent has never been deployed.
 */
export async function takeSnapshot(
  { runtime, objects }: { runtime: Pick<Runtime, 'snapshot'>; objects: Objects },
  { agentId, requestedAt }: OperationRow,
): Promise<string | null> {
  const name = `${requestedAt.toISOString().replaceAll(':', '-')}${ENDING}`
  try {
    await objects.put(toBackupPath(agentId, name), (file) => runtime.snapshot(agentId, file))
    return name
  } catch (error) {
    if (error instanceof AppError && error.kind === 'not_found') return null
    throw error
  }
}

/**
 * Lists an agent's snapshots, newest first, each with the operation that followed it.
 * @throws AppError `not_found` for a missing or foreign agent.
 */
export async function listSnapshots(
  deps: { db: Db; objects: Objects },
  principal: Principal,
  agentId: string,
): Promise<Snapshot[]> {
  const { id } = getAgent(deps.db, principal, agentId)
  const operations = listOperations(deps.db, id)
  const found = (await listStored(deps, id)).map(({ name, sizeBytes }) => {
    const before = operations.find(({ snapshot }) => snapshot === name)?.kind ?? null
    return { id: toSnapshotId(name), takenAt: toTakenAt(name), before, sizeBytes }
  })
  return found.reverse()
}

/** Returns the file name of a snapshot. @throws AppError `not_found` for another agent's or a missing one. */
export async function findSnapshotName(
  deps: { objects: Objects },
  agentId: string,
  snapshotId: string,
): Promise<string> {
  const found = (await listStored(deps, agentId)).find(({ name }) => toSnapshotId(name) === snapshotId)
  if (!found) throw new AppError('not_found', 'Snapshot not found')
  return found.name
}

/** @throws AppError `invalid` when a snapshot was deleted since it was requested. */
export async function requireSnapshot(deps: { objects: Objects }, agentId: string, snapshot: string): Promise<void> {
  if (!(await listStored(deps, agentId)).some(({ name }) => name === snapshot))
    throw new AppError('invalid', 'This snapshot is not kept any more')
}

/** Replaces the state of a stopped agent by a snapshot. @throws AppError as the runtime, `not_found` without it. */
export async function restoreFromSnapshot(
  { runtime, objects }: { runtime: Pick<Runtime, 'restore'>; objects: Objects },
  agentId: string,
  name: string,
): Promise<void> {
  await objects.use(toBackupPath(agentId, name), (file) => runtime.restore(agentId, file))
}

/** Deletes all but the newest snapshots of an agent, never `kept`. */
export async function forgetSnapshots(
  deps: { objects: Objects },
  agentId: string,
  kept: string | null = null,
): Promise<void> {
  const old = (await listStored(deps, agentId)).slice(0, -MAX_SNAPSHOTS).filter(({ name }) => name !== kept)
  await Promise.all(old.map(({ name }) => deps.objects.remove(toBackupPath(agentId, name))))
}

/** Deletes every snapshot of an agent. */
export async function removeSnapshots({ objects }: { objects: Objects }, agentId: string): Promise<void> {
  await objects.removeAll(snapshotsOf(agentId))
}

/** Lists an agent's snapshots, oldest first. */
async function listStored({ objects }: { objects: Objects }, agentId: string) {
  const prefix = snapshotsOf(agentId)
  const stored = await objects.list(prefix)
  return stored
    .map(({ name, sizeBytes }) => ({ name: name.slice(prefix.length), sizeBytes }))
    .filter(({ name }) => NAME.test(name))
}

function toSnapshotId(name: string): string {
  return name.slice(0, -ENDING.length)
}

function toTakenAt(name: string): string {
  return name.replace(NAME, '$1:$2:$3')
}
