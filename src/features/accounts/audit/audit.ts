import { asc, desc, gt, lt, sql } from 'drizzle-orm'
import { currentRequestId } from '../../../core/request-id.ts'
import { countChanges } from '../../../db/changes.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import type { AuditList, AuditQuery } from './schemas.ts'
import { auditLog } from './tables.ts'

/** One audit log entry. `actor` is a user's id, `cli` or `system`; `detail` must hold no secret. */
type AuditEntry = {
  actor: string
  action: string
  target: string
  detail?: Record<string, unknown>
  address?: string | null
}

/** Records the entry in the transaction of the action, so neither is stored without the other. */
export function recordAudit(tx: Tx, entry: AuditEntry, now: Date): void {
  tx.insert(auditLog)
    .values({
      ...entry,
      detail: entry.detail ?? {},
      address: entry.address ?? null,
      requestId: currentRequestId() ?? null,
      createdAt: now,
    })
    .run()
}

/** Returns one page of the audit log, newest first. */
export function listAudit(db: Db, { limit, before }: AuditQuery): AuditList {
  const selection = db
    .select()
    .from(auditLog)
    .where(before === undefined ? undefined : lt(auditLog.id, before))
    .orderBy(desc(auditLog.id))
  const { rows, last } = readPage(selection, limit)
  return { entries: rows.map(toEntry), next: last?.id ?? null }
}

function toEntry(row: typeof auditLog.$inferSelect): AuditList['entries'][number] {
  const { id, actor, action, target, detail, address, createdAt } = row
  return { id, actor, action, target, detail, address, createdAt: createdAt.toISOString() }
}

const LOOK_MS = 1000
/** Further entries are logged on the next run. */
const MAX_LINES = 500

/** Copies new audit entries to the server log, including those written by the CLI. */
export function logAuditJob({ db, log }: Base): RepeatingJob {
  let logged = db.select({ id: auditLog.id }).from(auditLog).orderBy(desc(auditLog.id)).limit(1).get()?.id ?? 0
  const newEntries = db
    .select()
    .from(auditLog)
    .where(gt(auditLog.id, sql.placeholder('logged')))
    .orderBy(asc(auditLog.id))
    .limit(MAX_LINES)
    .prepare()
  let seen = -1
  const logNewLines = async () => {
    const changes = countChanges(db)
    if (changes === seen) return
    const entries = newEntries.all({ logged })
    if (entries.length < MAX_LINES) seen = changes
    for (const { id, requestId, actor, action, target, address } of entries) {
      log.info({ requestId: requestId ?? undefined, actor, target, address: address ?? undefined }, action)
      logged = id
    }
  }
  return { name: 'audit.tell', everyMs: LOOK_MS, run: logNewLines }
}
