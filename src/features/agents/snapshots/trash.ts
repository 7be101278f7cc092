import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Db, Tx } from '../../../db/open.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import type { AgentRow } from '../registry/tables.ts'
import { ignoreMissing, snapshotFolder } from './snapshots.ts'

export type TrashDeps = Base & { snapshotDir: string }

/** The job that deletes the snapshots of an account's deleted agents. */
const EMPTY_TRASH_JOB = 'agents.empty-trash'

const DAY_MS = 86_400_000
const KEPT_MS = 7 * DAY_MS
/** The folder for agents without an owner; no account has this id. */
const NO_OWNER = 'operator'
/** An agent's id and the time of its deletion: UTC, hyphens instead of colons. */
const ENTRY = /^[a-z0-9-]+@(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)$/

/** Keeps the snapshots of a deleted agent for 7 days, by owner and id, for the operator. */
export async function discardSnapshots(deps: TrashDeps, { id, ownerId }: Pick<AgentRow, 'id' | 'ownerId'>) {
  const ofOwner = ownerTrash(deps, ownerId)
  const entry = `${id}@${deps.clock.now().toISOString().replaceAll(':', '-')}`
  await mkdir(ofOwner, { recursive: true, mode: 0o700 })
  try {
    await rename(snapshotFolder(deps, id), join(ofOwner, entry))
    deps.log.info(
      { agent: id, folder: `backups/trash/${ownerId ?? NO_OWNER}/${entry}` },
      'snapshots are kept for 7 days',
    )
  } catch (error) {
    ignoreMissing(error)
  }
}

/** Requests the deletion of an account's kept snapshots, in the transaction that deletes the account. */
export function enqueueEmptyTrash({ enqueue }: { enqueue: Enqueue }, tx: Tx, ownerId: string): void {
  enqueue(tx, EMPTY_TRASH_JOB, { ownerId })
}

/** Deletes an account's kept snapshots. */
async function emptyTrash(deps: Pick<TrashDeps, 'snapshotDir'>, ownerId: string): Promise<void> {
  await rm(ownerTrash(deps, ownerId), { recursive: true, force: true })
}

/** Deletes snapshots that are older than 7 days or whose account is gone. */
async function forgetTrash(deps: Omit<TrashDeps, 'log'> & { db: Db }): Promise<void> {
  for (const owner of await list(trashFolder(deps))) {
    const isKnown = owner === NO_OWNER || findUser(deps.db, owner)
    if (isKnown) await forgetOld(deps, join(trashFolder(deps), owner))
    else await emptyTrash(deps, owner)
  }
}

async function forgetOld({ clock }: Pick<TrashDeps, 'clock'>, folder: string): Promise<void> {
  for (const entry of await list(folder)) {
    const [, day, minutes, seconds] = ENTRY.exec(entry) ?? []
    const keptMs = clock.now().getTime() - Date.parse(`${day}:${minutes}:${seconds}`)
    // Files of other names are not ours to delete.
    if (keptMs > KEPT_MS) await rm(join(folder, entry), { recursive: true, force: true })
  }
}

function findUser(db: Db, id: string): boolean {
  return db.select({ id: users.id }).from(users).where(eq(users.id, id)).get() !== undefined
}

async function list(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(ignoreMissing)) ?? []
}

function ownerTrash(deps: Pick<TrashDeps, 'snapshotDir'>, ownerId: string | null): string {
  return join(trashFolder(deps), ownerId ?? NO_OWNER)
}

function trashFolder({ snapshotDir }: Pick<TrashDeps, 'snapshotDir'>): string {
  return join(snapshotDir, '..', 'trash')
}

const HOUR_MS = 3_600_000

export function emptyTrashJob(deps: { snapshotDir: string }): JobKind {
  return defineJob({
    kind: EMPTY_TRASH_JOB,
    payload: z.object({ ownerId: z.string() }),
    run: ({ ownerId }) => emptyTrash(deps, ownerId),
  })
}

export function trashJob(deps: Parameters<typeof forgetTrash>[0]): RepeatingJob {
  return { name: 'agents.trash', everyMs: HOUR_MS, run: () => forgetTrash(deps) }
}
