import { desc, lt } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages/read-page.ts'
import type { AuditList, AuditQuery } from './schemas.ts'
import { auditLog } from './tables.ts'

/** A page of the audit log, newest first. */
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
