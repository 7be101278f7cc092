import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Objects } from '../../../adapters/objects/objects.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import type { AgentRow } from '../registry/tables.ts'
import { snapshotsOf } from './snapshots.ts'

export type TrashDeps = Base & { objects: Objects }

/** The job that deletes the snapshots of an account's deleted agents. */
const EMPTY_TRASH_JOB = 'agents.empty-trash'

const DAY_MS = 86_400_000
const KEPT_MS = 7 * DAY_MS
/** The folder for agents without an owner; no account has this id. */
const NO_OWNER = 'operator'
const TRASH = 'backups/trash/'
/** Owner, agent and time of the deletion (UTC, hyphens instead of colons) in the name of an object. */
const ENTRY = /^backups\/trash\/([^/]+)\/[a-z0-9-]+@(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)\//

/** Keeps the snapshots of a deleted agent for 7 days, by owner and id, for the operator. */
export async function discardSnapshots(
  { objects, clock, log }: TrashDeps,
  { id, ownerId }: Pick<AgentRow, 'id' | 'ownerId'>,
) {
  const folder = `${TRASH}${ownerId ?? NO_OWNER}/${id}@${clock.now().toISOString().replaceAll(':', '-')}`
  const stored = await objects.list(snapshotsOf(id))
  for (const { name } of stored) await objects.move(name, `${folder}/${name.slice(snapshotsOf(id).length)}`)
  await objects.removeAll(snapshotsOf(id))
  if (stored.length > 0) log.info({ agent: id, folder }, 'snapshots are kept for 7 days')
}

/** Requests the deletion of an account's kept snapshots, in the transaction that deletes the account. */
export function enqueueEmptyTrash({ enqueue }: { enqueue: Enqueue }, tx: Tx, ownerId: string): void {
  enqueue(tx, EMPTY_TRASH_JOB, { ownerId })
}

/** Deletes snapshots that are older than 7 days or whose account is gone. */
async function forgetTrash({ db, clock, objects }: Pick<TrashDeps, 'clock' | 'objects'> & { db: Db }): Promise<void> {
  for (const { name } of await objects.list(TRASH)) {
    const [entry, owner = '', day, minutes, seconds] = ENTRY.exec(name) ?? []
    // Files of other names are not ours to delete.
    if (entry === undefined) continue
    const isKnown = owner === NO_OWNER || findUser(db, owner)
    const keptMs = clock.now().getTime() - Date.parse(`${day}:${minutes}:${seconds}`)
    if (!isKnown || keptMs > KEPT_MS) await objects.removeAll(entry)
  }
}

function findUser(db: Db, id: string): boolean {
  return db.select({ id: users.id }).from(users).where(eq(users.id, id)).get() !== undefined
}

const HOUR_MS = 3_600_000

/** Deletes an account's kept snapshots. */
export function emptyTrashJob({ objects }: Pick<TrashDeps, 'objects'>): JobKind {
  return defineJob({
    kind: EMPTY_TRASH_JOB,
    payload: z.object({ ownerId: z.string() }),
    run: ({ ownerId }) => objects.removeAll(`${TRASH}${ownerId}/`),
  })
}

export function trashJob(deps: Parameters<typeof forgetTrash>[0]): RepeatingJob {
  return { name: 'agents.trash', everyMs: HOUR_MS, run: () => forgetTrash(deps) }
}
