import { currentRequestId } from '../../../core/request-id.ts'
import type { Tx } from '../../../db/open.ts'
import { auditLog } from './tables.ts'

/** One line of the audit log. `actor` is a user's id, `cli` or `system`; `detail` must hold no secret. */
export type AuditEntry = {
  actor: string
  action: string
  target: string
  detail?: Record<string, unknown>
  address?: string | null
}

/** Adds the line in the closure of what it tells: one is never without the other. */
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
