import { asc, desc, gt } from 'drizzle-orm'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { auditLog } from './tables.ts'

const LOOK_MS = 1000
/** What is more is told the next time. */
const MAX_LINES = 500

/** Writes each new line of the audit log to the log as well, also what the command line has done meanwhile. */
export function tellAuditJob({ db, log }: { db: Db; log: Log }): RepeatingJob {
  let told = db.select({ id: auditLog.id }).from(auditLog).orderBy(desc(auditLog.id)).limit(1).get()?.id ?? 0
  const logNewLines = async () => {
    const rows = db
      .select()
      .from(auditLog)
      .where(gt(auditLog.id, told))
      .orderBy(asc(auditLog.id))
      .limit(MAX_LINES)
      .all()
    for (const { id, requestId, actor, action, target, address } of rows) {
      log.info({ requestId: requestId ?? undefined, actor, target, address: address ?? undefined }, action)
      told = id
    }
  }
  return { name: 'audit.tell', everyMs: LOOK_MS, run: logNewLines }
}
