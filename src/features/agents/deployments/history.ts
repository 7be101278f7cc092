import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { listOperations, withoutOutput } from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { getAgent } from '../registry/list.ts'
import { toBackupPath } from '../snapshots/snapshots.ts'
import type { Deployment } from './schemas.ts'

/**
 * What was asked of an agent and what became of it, newest first. To roll back is to update to the `previousImage` of one.
 * @throws AppError `not_found` for a missing agent and for someone else's.
 */
export function listDeployments(db: Db, principal: Principal, agentId: string): Deployment[] {
  return listOperations(db, getAgent(db, principal, agentId).id).map(toDeployment)
}

function toDeployment(row: OperationRow): Deployment {
  return {
    id: row.id,
    kind: row.kind,
    requestedBy: row.requestedBy,
    step: row.step,
    result: row.result,
    image: row.image,
    previousImage: row.previousImage,
    reason: withoutOutput(row.error),
    logTail: row.logTail,
    backupPath: toBackupPath(row.agentId, row.snapshot),
    requestedAt: row.requestedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
    durationMs: row.finishedAt && row.finishedAt.getTime() - (row.startedAt ?? row.requestedAt).getTime(),
  }
}
