import { desc, eq, isNull, lt } from 'drizzle-orm'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { TellOwner } from '../../people/notices/tell.ts'
import { users } from '../../people/users/tables.ts'
import { type BackupRunRow, backupRuns } from './tables.ts'

/** Runs this program with other arguments, and tells how it ended and what it wrote. */
export type RunStead = (
  args: string[],
  signal: AbortSignal,
) => Promise<{ exitCode: number; stdout: string; stderr: string }>

export type RunBackupDeps = { db: Db; clock: Clock; log: Log; tellOwner: TellOwner; runStead: RunStead | null }

/** What `stead backup run --json` writes. */
const Ran = z.object({
  file: z.string(),
  bytes: z.number(),
  verifiedAt: z.iso.datetime(),
  agents: z.array(z.object({ id: z.string(), state: z.string(), reason: z.string().nullable() })),
})
/** So many runs are remembered. */
const MAX_RUNS = 200

/**
 * Makes a backup in a process of its own and notes what became of it; admins are told when there is none.
 * @throws AppError `conflict` while another one is being made, `unavailable` {code: 'NOT_CONFIGURED'} where none can be.
 */
export async function runBackup(deps: RunBackupDeps, signal: AbortSignal): Promise<BackupRunRow> {
  const { runStead } = deps
  if (!runStead) {
    throw new AppError('unavailable', 'Backups cannot be made from here', { code: 'NOT_CONFIGURED' })
  }
  const id = await write(deps.db, (tx) => startRun(tx, deps.clock.now()))
  const outcome = await make(runStead, signal)
  return write(deps.db, (tx) => finishRun(deps, tx, id, outcome))
}

/** `missing` names the agents whose state could not be had. */
type Outcome = Partial<Pick<BackupRunRow, 'file' | 'sizeBytes' | 'verifiedAt' | 'error'>> & { missing?: string[] }

async function make(runStead: RunStead, signal: AbortSignal): Promise<Outcome> {
  try {
    const { exitCode, stdout, stderr } = await runStead(['backup', 'run', '--json'], signal)
    if (signal.aborted) return { error: 'Stead was stopped while it was being made' }
    const ran = Ran.safeParse(stdout === '' ? null : JSON.parse(stdout))
    if (ran.success) {
      const { file, bytes, verifiedAt, agents } = ran.data
      const missing = agents.filter(({ state }) => state === 'missing').map(({ id, reason }) => `${id} (${reason})`)
      return { file, sizeBytes: bytes, verifiedAt: new Date(verifiedAt), missing }
    }
    return { error: stderr.trim().replace(/^stead: /, '') || `it ended with exit code ${exitCode}` }
  } catch (error) {
    return { error: errorMessage(error) }
  }
}

function startRun(tx: Tx, now: Date): number {
  const isRunning = tx.select().from(backupRuns).where(isNull(backupRuns.finishedAt)).get() !== undefined
  if (isRunning) throw new AppError('conflict', 'A backup is being made already')
  const { id } = tx.insert(backupRuns).values({ startedAt: now }).returning({ id: backupRuns.id }).get()
  tx.delete(backupRuns)
    .where(lt(backupRuns.id, id - MAX_RUNS))
    .run()
  return id
}

function finishRun(deps: RunBackupDeps, tx: Tx, id: number, { missing = [], ...outcome }: Outcome): BackupRunRow {
  const row = tx
    .update(backupRuns)
    .set({ ...outcome, finishedAt: deps.clock.now() })
    .where(eq(backupRuns.id, id))
    .returning()
    .get()
  if (row.error) {
    deps.log.error({ error: row.error }, 'a backup failed')
    tellAdmins(deps, tx, `No backup was made: ${row.error}. The last ones are as they were.`)
  } else if (missing.length > 0) {
    deps.log.warn({ file: row.file, missing }, 'a backup lacks what agents have stored')
    tellAdmins(deps, tx, `The backup ${row.file} lacks what these agents have stored: ${missing.join(', ')}.`)
  } else deps.log.info({ file: row.file, bytes: row.sizeBytes }, 'a backup was made and proved')
  return row
}

function tellAdmins({ tellOwner }: Pick<RunBackupDeps, 'tellOwner'>, tx: Tx, text: string): void {
  const admins = tx.select({ id: users.id }).from(users).where(eq(users.isAdmin, true)).all()
  for (const { id } of admins) tellOwner(tx, { userId: id, agent: null, kind: 'backup_failed', text })
}

/** What a platform that died has left unfinished failed. */
export async function endBrokenOff(deps: RunBackupDeps): Promise<void> {
  const rows = deps.db.select({ id: backupRuns.id }).from(backupRuns).where(isNull(backupRuns.finishedAt)).all()
  if (rows.length === 0) return
  await write(deps.db, (tx) => {
    for (const { id } of rows) finishRun(deps, tx, id, { error: 'Stead ended while it was being made' })
  })
}

/** The newest first. */
export function listRuns(db: Db): BackupRunRow[] {
  return db.select().from(backupRuns).orderBy(desc(backupRuns.id)).limit(MAX_RUNS).all()
}
