import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { AppError } from '../../../core/errors.ts'
import type { OperationRow } from '../operations/tables.ts'

type SnapshotDeps = { runtime: Pick<Runtime, 'snapshot'>; snapshotDir: string }

/** So many snapshots of an agent are kept. */
const MAX_SNAPSHOTS = 3
const NAME = /^[0-9TZ.-]+\.tar\.gz$/

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
  const name = `${requestedAt.toISOString().replaceAll(':', '-')}.tar.gz`
  await mkdir(snapshotFolder(deps, agentId), { recursive: true, mode: 0o700 })
  try {
    await deps.runtime.snapshot(agentId, snapshotFile(deps, agentId, name))
    return name
  } catch (error) {
    if (error instanceof AppError && error.kind === 'not_found') return null
    throw error
  }
}

/** Deletes all but the newest snapshots of an agent. */
export async function forgetSnapshots(deps: Pick<SnapshotDeps, 'snapshotDir'>, agentId: string): Promise<void> {
  const folder = snapshotFolder(deps, agentId)
  const names = (await readdir(folder).catch(ignoreMissing)) ?? []
  const old = names.filter((name) => NAME.test(name)).sort()
  await Promise.all(old.slice(0, -MAX_SNAPSHOTS).map((name) => rm(join(folder, name), { force: true })))
}

/** Deletes every snapshot of an agent. */
export async function removeSnapshots(deps: Pick<SnapshotDeps, 'snapshotDir'>, agentId: string): Promise<void> {
  await rm(snapshotFolder(deps, agentId), { recursive: true, force: true })
}

/** Nothing for a file that is not there. @throws whatever else it is. */
export function ignoreMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
