import { and, desc, eq, lt } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import type { Split, SplitDetail, SplitPage, SplitPart, SplitQuery } from './schemas.ts'
import { listPartPayments } from './settle-split.ts'
import { royaltySplits, type SplitRow } from './tables.ts'

const PAGE = 50

/** Lists the splits that the principal may see, newest first. */
export function listSplits(db: Db, principal: Principal, { before }: SplitQuery): SplitPage {
  const isBefore = before === undefined ? undefined : lt(royaltySplits.id, before)
  const rows = db
    .select()
    .from(royaltySplits)
    .where(and(ownedBy(principal), isBefore))
    .orderBy(desc(royaltySplits.id))
    .limit(PAGE)
    .all()
  return { splits: rows.map(toSplit), next: rows.length === PAGE ? (rows.at(-1)?.id ?? null) : null }
}

/** @throws AppError `not_found` for a missing split and for another user's. */
export function getSplit(db: Db, principal: Principal, id: number): SplitRow {
  const isThis = and(eq(royaltySplits.id, id), ownedBy(principal))
  const row = db.select().from(royaltySplits).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Split not found')
  return row
}

/** Returns a split with the status of each recipient's payment. @throws AppError as `getSplit`. */
export function getSplitDetail(db: Db, principal: Principal, id: number): SplitDetail {
  return { ...toSplit(getSplit(db, principal, id)), recipients: listParts(db, id) }
}

export function listParts(db: Db, splitId: number): SplitPart[] {
  return listPartPayments(db, splitId).map(({ part, payment }) => ({
    address: part.address,
    name: part.name,
    share: formatMicroUsd(part.shareMillionths),
    amount: formatMicroUsd(part.amountMicroUsd, 2),
    status: part.isSkipped ? 'skipped' : part.failure === null ? (payment?.status ?? 'queued') : 'failed',
    reason: part.failure ?? payment?.reason ?? null,
    transactionHash: payment?.transactionHash ?? null,
  }))
}

export function toSplit(row: SplitRow): Split {
  return {
    id: row.id,
    userId: row.userId,
    agentId: row.agentId,
    fromAddress: row.fromAddress,
    name: row.name,
    trigger: row.trigger,
    totalAmount: formatMicroUsd(row.totalMicroUsd, 2),
    status: row.status,
    isHeld: row.isHeld,
    reason: row.reason,
    createdAt: row.createdAt.toISOString(),
    completedAt: row.completedAt?.toISOString() ?? null,
  }
}

function ownedBy(principal: Principal) {
  return principal.kind === 'user' ? eq(royaltySplits.ownerId, principal.user.id) : undefined
}
