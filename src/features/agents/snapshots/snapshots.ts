import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import type { Snapshot } from '../deployments/schemas.ts'
import { listOperations } from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { getAgent } from '../registry/agents.ts'

type SnapshotDeps = { runtime: Pick<Runtime, 'snapshot'>; snapshotDir: string }

/** So many snapshots of an agent are kept. */
const MAX_SNAPSHOTS = 3
const ENDING = '.tar.gz'
/** The time in UTC at which the change was asked for that it was taken before, with hyphens where a file must not have colons. */
const NAME = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)\.tar\.gz$/

/** Where all snapshots of an agent are. */
export function snapshotFolder({ snapshotDir }: Pick<SnapshotDeps, 'snapshotDir'>, agentId: string): string {
  return join(snapshotDir, agentId)
}

/** The file of a snapshot by its name. */
export function snapshotFile(deps: Pick<SnapshotDeps, 'snapshotDir'>, agentId: string, name: string): string {
  return join(snapshotFolder(deps, agentId), name)
}

/** Where a snapshot is, from the data folder, as callers are told. */
export function toBackupPath(agentId: string, name: string | null): string | null {
  return name && `backups/agents/${agentId}/${name}`
}

/**
 * Keeps all that a stopped agent has stored, named by when the operation was asked for, so that a second try replaces the
 * first. @returns its name, null when the agent has never been deployed.
 */
export async function takeSnapshot(deps: SnapshotDeps, operation: OperationRow): Promise<string | null> {
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
 * What is kept of an agent, newest first, each with what was done to the agent next where that is still known.
 * @throws AppError `not_found` for a missing agent and for someone else's.
 */
export async function listSnapshots(
  deps: Pick<SnapshotDeps, 'snapshotDir'> & { db: Db },
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

/** The file that a snapshot's id names. @throws AppError `not_found` unless it is kept of this agent. */
export async function findSnapshotName(
  deps: Pick<SnapshotDeps, 'snapshotDir'>,
  agentId: string,
  snapshotId: string,
): Promise<string> {
  const name = (await listNames(deps, agentId)).find((one) => toSnapshotId(one) === snapshotId)
  if (!name) throw new AppError('not_found', 'Snapshot not found')
  return name
}

/** @throws AppError `invalid` when a snapshot is gone that was there when it was asked for. */
export async function requireSnapshot(
  deps: Pick<SnapshotDeps, 'snapshotDir'>,
  agentId: string,
  name: string,
): Promise<void> {
  if (!(await listNames(deps, agentId)).includes(name))
    throw new AppError('invalid', 'This snapshot is not kept any more')
}

/** Deletes all but the newest snapshots of an agent, and leaves `kept` however old it is. */
export async function forgetSnapshots(
  deps: Pick<SnapshotDeps, 'snapshotDir'>,
  agentId: string,
  kept: string | null = null,
): Promise<void> {
  const old = (await listNames(deps, agentId)).slice(0, -MAX_SNAPSHOTS).filter((name) => name !== kept)
  await Promise.all(old.map((name) => rm(snapshotFile(deps, agentId, name), { force: true })))
}

/** Deletes every snapshot of an agent. */
export async function removeSnapshots(deps: Pick<SnapshotDeps, 'snapshotDir'>, agentId: string): Promise<void> {
  await rm(snapshotFolder(deps, agentId), { recursive: true, force: true })
}

/** The files of an agent's snapshots, oldest first. */
async function listNames(deps: Pick<SnapshotDeps, 'snapshotDir'>, agentId: string): Promise<string[]> {
  const names = (await readdir(snapshotFolder(deps, agentId)).catch(ignoreMissing)) ?? []
  return names.filter((name) => NAME.test(name)).sort()
}

function toSnapshotId(name: string): string {
  return name.slice(0, -ENDING.length)
}

function toTakenAt(name: string): string {
  return name.replace(NAME, '$1:$2:$3')
}

/** Nothing for a file that is not there. @throws whatever else it is. */
export function ignoreMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
