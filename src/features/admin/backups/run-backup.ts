import { and, desc, eq, isNotNull, isNull, lt } from 'drizzle-orm'
import { z } from 'zod'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import type { BackupPlan } from './backup-plan.ts'
import { type BackupRunRow, backupRuns } from './tables.ts'

/** Runs a command of this program with additional settings; returns its exit code and output. */
export type RunStead = (
  args: string[],
  signal: AbortSignal,
  settings?: Record<string, string>,
) => Promise<{ exitCode: number; stdout: string; stderr: string }>

export type RunBackupDeps = Base & {
  sendNotice: SendNotice
  runStead: RunStead | null
  backupPlan: Pick<BackupPlan, 'toEnvironment'>
}

/** Task of a run; `file` is the path or address for the CLI. */
export type BackupTask =
  | { kind: 'backup' }
  | { kind: 'verify' | 'drill'; file: string }
  | { kind: 'restore'; file: string; agentId: string; replaces: boolean }

/** Number of runs kept. */
const MAX_RUNS = 200

/**
 * Performs a run in a child process, records the outcome and notifies administrators of a failure.
 * @throws AppError `conflict` while another run is in progress, `unavailable` {code: 'NOT_CONFIGURED'} when the
 * platform cannot run one.
 */
export async function runBackup(
  deps: RunBackupDeps,
  signal: AbortSignal,
  task: BackupTask = { kind: 'backup' },
): Promise<BackupRunRow> {
  requireRunStead(deps)
  const { id } = await write(deps.db, (tx) => startRun(tx, task, deps.clock.now()))
  return performRun(deps, id, task, signal)
}

/** Performs a run that `startRun` recorded. */
export async function performRun(
  deps: RunBackupDeps,
  id: number,
  task: BackupTask,
  signal: AbortSignal,
): Promise<BackupRunRow> {
  const run = requireRunStead(deps)
  const settings = deps.backupPlan.toEnvironment()
  const outcome = await perform((args) => run(args, signal, settings), task, signal)
  return write(deps.db, (tx) => finishRun(deps, tx, id, outcome))
}

/** Returns the function that runs commands. @throws AppError `unavailable` {code: 'NOT_CONFIGURED'} */
export function requireRunStead({ runStead }: Pick<RunBackupDeps, 'runStead'>): RunStead {
  if (runStead) return runStead
  throw new AppError('unavailable', 'Backups cannot be made from here', { code: 'NOT_CONFIGURED' })
}

async function perform(
  run: (args: string[]) => ReturnType<RunStead>,
  task: BackupTask,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const { exitCode, stdout, stderr } = await run(toArguments(task))
    if (signal.aborted) return { error: 'Stead was stopped meanwhile' }
    const outcome = readOutcome(task.kind, stdout)
    return outcome ?? { error: stderr.trim().replace(/^stead: /, '') || `it ended with exit code ${exitCode}` }
  } catch (error) {
    return { error: errorMessage(error) }
  }
}

function toArguments(task: BackupTask): string[] {
  if (task.kind === 'backup') return ['backup', 'run', '--json']
  if (task.kind !== 'restore') return ['backup', task.kind, task.file, '--json']
  return ['backup', 'restore', task.file, '--agent', task.agentId, ...(task.replaces ? ['--replace'] : []), '--json']
}

/** Records the start of a run. @throws AppError `conflict` while another run is in progress. */
export function startRun(tx: Tx, task: BackupTask, now: Date): BackupRunRow {
  const running = tx.select().from(backupRuns).where(isNull(backupRuns.finishedAt)).get()
  if (running?.kind === 'backup') throw new AppError('conflict', 'A backup is being made already')
  if (running) throw new AppError('conflict', 'Something else is being done with backups: wait until it has ended')
  const file = task.kind === 'backup' ? null : task.file
  const row = tx.insert(backupRuns).values({ kind: task.kind, file, startedAt: now }).returning().get()
  tx.delete(backupRuns)
    .where(lt(backupRuns.id, row.id - MAX_RUNS))
    .run()
  return row
}

function finishRun(
  deps: RunBackupDeps,
  tx: Tx,
  id: number,
  { missing = [], isWhole, ...columns }: Outcome,
): BackupRunRow {
  const now = deps.clock.now()
  const row = tx
    .update(backupRuns)
    .set({ ...(isWhole && { verifiedAt: now }), ...columns, finishedAt: now })
    .where(eq(backupRuns.id, id))
    .returning()
    .get()
  const { kind, file, error } = row
  if (error) {
    deps.log.error({ kind, file, error }, 'a backup failed')
    if (kind === 'backup') notifyAdmins(deps, tx, `No backup was made: ${error}. The last ones are as they were.`)
    if (kind === 'drill') notifyAdmins(deps, tx, `The backup ${file} could not be restored for a trial: ${error}.`)
  } else if (missing.length > 0) {
    deps.log.warn({ file, missing }, 'a backup lacks what agents have stored')
    notifyAdmins(deps, tx, `The backup ${file} lacks what these agents have stored: ${missing.join(', ')}.`)
  } else
    deps.log.info({ kind, file, outcome: row.outcome }, kind === 'backup' ? 'a backup was made and proved' : 'done')
  return row
}

function notifyAdmins({ sendNotice }: Pick<RunBackupDeps, 'sendNotice'>, tx: Tx, text: string): void {
  const admins = tx.select({ id: users.id }).from(users).where(eq(users.isAdmin, true)).all()
  for (const { id } of admins) sendNotice(tx, { userId: id, agent: null, kind: 'backup_failed', text })
}

/** Marks runs interrupted by a crash as failed; runs since `openedAt` belong to this process. */
export async function endBrokenOff(deps: RunBackupDeps, openedAt: Date): Promise<void> {
  const isBrokenOff = and(isNull(backupRuns.finishedAt), lt(backupRuns.startedAt, openedAt))
  const rows = deps.db.select({ id: backupRuns.id }).from(backupRuns).where(isBrokenOff).all()
  if (rows.length === 0) return
  await write(deps.db, (tx) => {
    for (const { id } of rows) finishRun(deps, tx, id, { error: 'Stead ended meanwhile' })
  })
}

/** Lists runs, newest first. */
export function listRuns(db: Db): BackupRunRow[] {
  return db.select().from(backupRuns).orderBy(desc(backupRuns.id)).limit(MAX_RUNS).all()
}

/** Returns the last run of a kind. */
export function findLastRun(db: Db, kind: BackupRunRow['kind']): BackupRunRow | null {
  return db.select().from(backupRuns).where(eq(backupRuns.kind, kind)).orderBy(desc(backupRuns.id)).get() ?? null
}

/** Returns when a backup was last verified by its creation, a check or a drill; null if never. */
export function findLastVerified(db: Db, kind?: BackupRunRow['kind']): Date | null {
  const isWhole = isNotNull(backupRuns.verifiedAt)
  const where = kind === undefined ? isWhole : and(isWhole, eq(backupRuns.kind, kind))
  return db.select().from(backupRuns).where(where).orderBy(desc(backupRuns.id)).get()?.verifiedAt ?? null
}

/** Outcome of a run; `missing` lists agents whose files could not be read, `isWhole` a successful verification. */
type Outcome = Partial<Pick<BackupRunRow, 'file' | 'sizeBytes' | 'verifiedAt' | 'error' | 'outcome'>> & {
  isWhole?: true
  missing?: string[]
}

/** Output of `stead backup run --json`. */
const Ran = z.object({
  file: z.string(),
  bytes: z.number(),
  verifiedAt: z.iso.datetime(),
  agents: z.array(z.object({ id: z.string(), state: z.string(), reason: z.string().nullable() })),
})
const Verified = z.object({
  problems: z.array(z.string()),
  manifest: z.object({ createdAt: z.string(), agents: z.array(z.unknown()) }).nullable(),
})
const Drilled = z.object({ problems: z.array(z.string()), agents: z.number(), seconds: z.number() })
const Restored = z.object({
  agent: z.object({ id: z.string(), name: z.string(), state: z.string() }),
  createdAt: z.string(),
  rows: z.array(z.object({ brought: z.number() })),
  missing: z.array(z.string()),
})

/** Reads the JSON that the command wrote; null when it printed an error message instead. */
function readOutcome(kind: BackupRunRow['kind'], stdout: string): Outcome | null {
  const json: unknown = stdout.trim() === '' ? null : JSON.parse(stdout)
  return READERS[kind](json)
}

const READERS: Record<BackupRunRow['kind'], (json: unknown) => Outcome | null> = {
  backup(json) {
    const ran = Ran.safeParse(json).data
    if (!ran) return null
    const missing = ran.agents.filter(({ state }) => state === 'missing').map(({ id, reason }) => `${id} (${reason})`)
    const outcome = `${count(ran.agents.length, 'agent')}, found whole`
    return { file: ran.file, sizeBytes: ran.bytes, verifiedAt: new Date(ran.verifiedAt), missing, outcome }
  },
  verify(json) {
    const verified = Verified.safeParse(json).data
    if (!verified) return null
    if (verified.problems.length > 0) return { error: verified.problems.join('; ') }
    return { isWhole: true, outcome: `${count(verified.manifest?.agents.length ?? 0, 'agent')}, found whole` }
  },
  drill(json) {
    const drilled = Drilled.safeParse(json).data
    if (!drilled) return null
    if (drilled.problems.length > 0) return { error: drilled.problems.join('; ') }
    return { isWhole: true, outcome: `${count(drilled.agents, 'agent')} came back in ${drilled.seconds} s` }
  },
  restore(json) {
    const restored = Restored.safeParse(json).data
    if (!restored) return null
    const { agent, rows, missing, createdAt } = restored
    const brought = rows.reduce((sum, row) => sum + row.brought, 0)
    const lacks = missing.length > 0 ? `; missing: ${missing.join('; ')}` : ''
    return {
      outcome: `${agent.id} (${agent.name}) is as it was at ${createdAt}, and stopped: ${count(brought, 'row')}${lacks}`,
    }
  },
}

function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`
}
