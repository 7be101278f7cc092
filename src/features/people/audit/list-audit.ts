import { desc, lt } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import type { AuditList, AuditQuery } from './schemas.ts'
import { auditLog } from './tables.ts'

/** A page of the audit log, newest first. */
export function listAudit(db: Db, { limit, before }: AuditQuery): AuditList {
  const rows = db
    .select()
    .from(auditLog)
    .where(before === undefined ? undefined : lt(auditLog.id, before))
    .orderBy(desc(auditLog.id))
    .limit(limit + 1)
    .all()
  const page = rows.slice(0, limit)
  return {
    entries: page.map(({ id, actor, action, target, detail, address, createdAt }) => ({
      id,
      actor,
      action,
      target,
      detail,
      address,
      createdAt: createdAt.toISOString(),
    })),
    next: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
  }
}
