import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { withoutUserinfo } from '../../../core/text/url-userinfo.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db } from '../../../db/open.ts'
import { isBehind, type NewestFirst, newestFirst, type PagePlace, readPage } from '../../../db/pages.ts'
import { write } from '../../../db/write.ts'
import { type JobQueue, retryDeadJob } from '../../../jobs/queue.ts'
import { jobs } from '../../../jobs/tables.ts'
import type { AuditList } from '../../accounts/audit/schemas.ts'
import { composeMail } from '../../accounts/notifications/mail-texts.ts'
import { linksGo } from '../../accounts/notifications/send-mail.ts'
import { users } from '../../accounts/users/tables.ts'
import type { DiskFloor } from '../../agents/storage/disk.ts'
import type { Base } from '../../base.ts'
import type { FindFailing } from '../../monitoring/health/readiness.ts'
import type { HostHealth } from '../../monitoring/health/schemas.ts'
import { findAgentNames, readStateCounts } from '../../monitoring/metrics/queries.ts'
import { type Administrator, audit } from '../accounts/change-account.ts'
import type { JobList, JobsQuery, MailTest, NamedAuditList, PlatformHealth, ShownJob } from './schemas.ts'

const JOBS: NewestFirst = { table: jobs, time: jobs.runAt, id: sql`rowid` }

/** Lists the jobs of one state, latest due first. @throws AppError `invalid` when `after` is no job. */
export function listJobs(
  deps: { db: Db; canRetry: JobQueue['canRetry'] },
  { state, limit, after }: JobsQuery,
): JobList {
  const isEarlier = after === undefined ? undefined : isBehind(JOBS, getPlace(deps.db, after))
  const selection = deps.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.status, state), isEarlier))
    .orderBy(...newestFirst(JOBS))
  const { rows, last } = readPage(selection, limit)
  const counts = { queued: 0, running: 0, dead: 0, ...readStateCounts(deps.db, 'jobs') }
  return { jobs: rows.map((row) => toShownJob(deps, row)), counts, next: last?.id ?? null }
}

/**
 * Queues a dead job again with a fresh number of attempts.
 * @throws AppError `not_found`; `conflict` when it is not dead or its failure was already reported to a user.
 */
export async function retryJob(
  deps: Base & { canRetry: JobQueue['canRetry'] },
  by: Administrator,
  id: string,
): Promise<ShownJob> {
  const row = await write(deps.db, (tx) => {
    const job = getJob(tx, id)
    if (!deps.canRetry(job.kind))
      throw new AppError('conflict', 'The failure of this job was already reported to a user')
    if (!retryDeadJob(tx, id, deps.clock.now())) throw new AppError('conflict', 'Only dead jobs can be retried')
    audit(tx, by, { action: 'job.retry', target: id, detail: { kind: job.kind } }, deps.clock.now())
    return getJob(tx, id)
  })
  return toShownJob(deps, row)
}

type JobRow = typeof jobs.$inferSelect

function getJob(db: Db, id: string): JobRow {
  const row = db.select().from(jobs).where(eq(jobs.id, id)).get()
  if (!row) throw new AppError('not_found', 'Job not found')
  return row
}

function toShownJob({ canRetry }: { canRetry: JobQueue['canRetry'] }, row: JobRow): ShownJob {
  return {
    id: row.id,
    kind: row.kind,
    state: row.status,
    attempts: row.attempts,
    lastError: row.lastError,
    canRetry: row.status === 'dead' && canRetry(row.kind),
    createdAt: row.createdAt.toISOString(),
    runAt: row.runAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
  }
}

function getPlace(db: Db, id: string): PagePlace {
  const place = db.select({ time: jobs.runAt, id: sql<number>`rowid` }).from(jobs).where(eq(jobs.id, id)).get()
  if (!place) throw new AppError('invalid', 'after is not a job')
  return place
}

/** Adds the names of users and agents on a page of the audit log. */
export function nameAudit(db: Db, list: AuditList): NamedAuditList {
  const ids = [...new Set(list.entries.flatMap(({ actor, target }) => [actor, target]))]
  const accounts = db.select({ id: users.id, email: users.email }).from(users).where(inArray(users.id, ids)).all()
  const emails = accounts.map(({ id, email }) => [id, email] as const)
  return { ...list, names: Object.fromEntries([...emails, ...findAgentNames(db, ids)]) }
}

/**
 * Sends a test mail to `to` without the queue, so the caller sees the outcome. @throws AppError `unavailable`
 * NOT_CONFIGURED.
 */
export async function testMail(mailer: Mailer, to: string, signal: AbortSignal): Promise<MailTest> {
  if (!mailer.isConfigured) {
    throw new AppError('unavailable', 'Mail is not configured: set SMTP_URL', { code: 'NOT_CONFIGURED' })
  }
  try {
    await mailer.send(composeMail('test', to, null), signal)
    return { to, delivered: true, error: null }
  } catch (error) {
    return { to, delivered: false, error: withoutUserinfo(errorMessage(error)) }
  }
}

const MAIL_WORDS = { 'by-mail': 'smtp', 'to-log': 'log', nowhere: 'none' } as const

/** Returns the state of the platform: `degraded` also on an idle machine while a part fails. */
export async function getPlatformHealth(
  deps: Base & {
    mailer: Mailer
    diskFloor: DiskFloor
    findFailing: FindFailing
    probeHost: () => HostHealth
    measureDatabase: () => { bytes: number; logBytes: number } | null
  },
): Promise<PlatformHealth> {
  const failing = await deps.findFailing()
  const host = deps.probeHost()
  const database = deps.measureDatabase()
  return {
    ...host,
    health: host.health === 'healthy' && failing.length > 0 ? 'degraded' : host.health,
    version: VERSION,
    startedAt: new Date(performance.timeOrigin).toISOString(),
    failing,
    processBytes: process.memoryUsage.rss(),
    databaseBytes: database && database.bytes + database.logBytes,
    freeDiskBytes: await measureFreeDisk(deps),
    minFreeDiskBytes: deps.diskFloor.minFreeBytes,
    agents: readStateCounts(deps.db, 'agents'),
    jobs: readStateCounts(deps.db, 'jobs'),
    mail: MAIL_WORDS[linksGo(deps.mailer)],
  }
}

async function measureFreeDisk({ diskFloor, log }: { log: Log; diskFloor: DiskFloor }): Promise<number | null> {
  try {
    return await diskFloor.measure()
  } catch (error) {
    log.warn({ error: errorMessage(error) }, 'cannot measure the disk')
    return null
  }
}
