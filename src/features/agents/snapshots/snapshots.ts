import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
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

/** Returns the folder of an agent's snapshots. */
export function snapshotFolder({ snapshotDir }: { snapshotDir: string }, agentId: string): string {
  return join(snapshotDir, agentId)
}

/** Returns the path of a snapshot. */
export function snapshotFile(deps: { snapshotDir: string }, agentId: string, name: string): string {
  return join(snapshotFolder(deps, agentId), name)
}

/** Returns the path of a snapshot within the data folder. */
export function toBackupPath(agentId: string, name: string | null): string | null {
  return name && `backups/agents/${agentId}/${name}`
}

/**
 * Stores the state of a stopped agent under the operation's request time, so that a retry replaces it.
 * @returns the name, null when the agent has never been deployed.
 */
export async function takeSnapshot(
  deps: { runtime: Pick<Runtime, 'snapshot'>; snapshotDir: string },
  operation: OperationRow,
): Promise<string | null> {
  const { agentId, requestedAt } = operation
  const name = `${requestedAt.toISOString().replaceAll(':', '-')}${ENDING}`
  await mkdir(snapshotFolder(deps, agentId), { recursive: true, mode: 0o700 })
  try {
    await deps.runtime.snapshot(agentId, snapshotFile(deps, agentId, name))
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
  deps: { db: Db; snapshotDir: string },
  principal: Principal,
  agentId: string,
): Promise<Snapshot[]> {
  const { id } = getAgent(deps.db, principal, agentId)
  const operations = listOperations(deps.db, id)
  const found = await Promise.all(
    (await listNames(deps, id)).map(async (name) => {
      const file = await stat(snapshotFile(deps, id, name)).catch(ignoreMissing)
      const before = operations.find(({ snapshot }) => snapshot === name)?.kind ?? null
      return file && { id: toSnapshotId(name), takenAt: toTakenAt(name), before, sizeBytes: file.size }
    }),
  )
  return found.filter((one) => one !== undefined).reverse()
}

/** Returns the file name of a snapshot. @throws AppError `not_found` for another agent's or a missing one. */
export async function findSnapshotName(
  deps: { snapshotDir: string },
  agentId: string,
  snapshotId: string,
): Promise<string> {
  const name = (await listNames(deps, agentId)).find((one) => toSnapshotId(one) === snapshotId)
  if (!name) throw new AppError('not_found', 'Snapshot not found')
  return name
}

/** @throws AppError `invalid` when a snapshot was deleted since it was requested. */
export async function requireSnapshot(deps: { snapshotDir: string }, agentId: string, name: string): Promise<void> {
  if (!(await listNames(deps, agentId)).includes(name))
    throw new AppError('invalid', 'This snapshot is not kept any more')
}

/** Deletes all but the newest snapshots of an agent, never `kept`. */
export async function forgetSnapshots(
  deps: { snapshotDir: string },
  agentId: string,
  kept: string | null = null,
): Promise<void> {
  const old = (await listNames(deps, agentId)).slice(0, -MAX_SNAPSHOTS).filter((name) => name !== kept)
  await Promise.all(old.map((name) => rm(snapshotFile(deps, agentId, name), { force: true })))
}

/** Deletes every snapshot of an agent. */
export async function removeSnapshots(deps: { snapshotDir: string }, agentId: string): Promise<void> {
  await rm(snapshotFolder(deps, agentId), { recursive: true, force: true })
}

/** Lists an agent's snapshots, oldest first. */
async function listNames(deps: { snapshotDir: string }, agentId: string): Promise<string[]> {
  const names = (await readdir(snapshotFolder(deps, agentId)).catch(ignoreMissing)) ?? []
  return names.filter((name) => NAME.test(name)).sort()
}

function toSnapshotId(name: string): string {
  return name.slice(0, -ENDING.length)
}

function toTakenAt(name: string): string {
  return name.replace(NAME, '$1:$2:$3')
}

/** Returns undefined for a missing file. @throws every other error. */
export function ignoreMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
