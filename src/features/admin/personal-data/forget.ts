import { and, asc, between, eq, gt, inArray, sql } from 'drizzle-orm'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { deleteInBatches, inBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { invites } from '../../accounts/invites/tables.ts'
import { MAIL_JOB } from '../../accounts/notifications/send-mail.ts'
import { referrals } from '../../accounts/users/tables.ts'
import {
  addedDaySums,
  addedMonthSums,
  requestBodies,
  toolDays,
  toolEvents,
  usageAlerts,
  usageDays,
  usageEndUserMonths,
  usageLogs,
  usageMonths,
  usageTags,
} from '../../ai/usage/tables.ts'
import { forgetGatewayPayer, forgetLedgerOwner, forgetReceiptOwner } from '../../payments/personal.ts'

/** Replaces the ids of the account and its agents, because agent ids contain names that users chose. */
const DELETED_ID = 'deleted'
/** Rows of the job table read per transaction: no index finds the mails of one account. */
const WINDOW = 1000

/**
 * Anonymizes the remaining records of a deleted account in batches; usage keeps its sums for billing and capacity.
 * Idempotent: a repeated call continues where the previous one stopped.
 * @throws the reason of `signal`.
 */
export async function forgetAccount(db: Db, userId: string, signal: AbortSignal): Promise<void> {
  for (const forget of [
    forgetCalls,
    forgetDays,
    forgetMonths,
    forgetReferrals,
    forgetInvites,
    forgetReceiptOwner,
    forgetGatewayPayer,
  ]) {
    await inBatches(db, (tx, limit) => forget(tx, userId, limit), signal)
  }
  for (const table of [requestBodies, usageTags, usageEndUserMonths])
    await deleteInBatches(db, table, eq(table.userId, userId), signal)
  await deleteInBatches(db, toolEvents, eq(toolEvents.userId, userId), signal)
  await deleteInBatches(db, toolDays, eq(toolDays.userId, userId), signal)
  await deleteInBatches(db, usageAlerts, eq(usageAlerts.subject, userId), signal)
  await write(db, (tx) => forgetLedgerOwner(tx, userId))
  await forgetAuditLines(db, userId, signal)
  await forgetMails(db, userId, signal)
}

function forgetCalls(tx: Tx, userId: string, limit: number): number {
  const batch = tx.select({ id: usageLogs.id }).from(usageLogs).where(eq(usageLogs.userId, userId)).limit(limit)
  return tx
    .update(usageLogs)
    .set({
      ...{ userId: DELETED_ID, agentId: DELETED_ID, keyId: null },
      ...{ errorMessage: null, trail: null, endUser: null, tags: null },
    })
    .where(inArray(usageLogs.id, batch))
    .run().changes
}

function forgetDays(tx: Tx, userId: string, limit: number): number {
  const days = tx.select().from(usageDays).where(eq(usageDays.userId, userId)).limit(limit).all()
  for (const day of days) {
    const isThis = [
      eq(usageDays.day, day.day),
      eq(usageDays.agentId, day.agentId),
      eq(usageDays.model, day.model),
      eq(usageDays.provider, day.provider),
    ]
    tx.delete(usageDays)
      .where(and(eq(usageDays.userId, userId), ...isThis))
      .run()
    tx.insert(usageDays)
      .values({ ...day, userId: DELETED_ID, agentId: DELETED_ID })
      .onConflictDoUpdate({
        target: [usageDays.userId, usageDays.day, usageDays.agentId, usageDays.model, usageDays.provider],
        set: addedDaySums,
      })
      .run()
  }
  return days.length
}

function forgetMonths(tx: Tx, userId: string, limit: number): number {
  const months = tx.select().from(usageMonths).where(eq(usageMonths.userId, userId)).limit(limit).all()
  for (const month of months) {
    tx.delete(usageMonths)
      .where(and(eq(usageMonths.userId, userId), eq(usageMonths.month, month.month)))
      .run()
    tx.insert(usageMonths)
      .values({ ...month, userId: DELETED_ID })
      .onConflictDoUpdate({
        target: [usageMonths.userId, usageMonths.month],
        set: addedMonthSums,
      })
      .run()
  }
  return months.length
}

function forgetReferrals(tx: Tx, userId: string, limit: number): number {
  const isTheirs = eq(referrals.referrerId, userId)
  const batch = tx.select({ id: referrals.newUserId }).from(referrals).where(isTheirs).limit(limit)
  return tx.update(referrals).set({ referrerId: DELETED_ID }).where(inArray(referrals.newUserId, batch)).run().changes
}

function forgetInvites(tx: Tx, userId: string, limit: number): number {
  const batch = tx.select({ code: invites.codeHash }).from(invites).where(eq(invites.createdBy, userId)).limit(limit)
  return tx.update(invites).set({ createdBy: DELETED_ID }).where(inArray(invites.codeHash, batch)).run().changes
}

/** The audit log keeps the action and its time, but no address and no text about the account. */
async function forgetAuditLines(db: Db, userId: string, signal: AbortSignal): Promise<void> {
  for (const [column, change] of [
    [auditLog.actor, { address: null, detail: {} }],
    [auditLog.target, { detail: {} }],
  ] as const) {
    let after = 0
    const forget = (tx: Tx, limit: number) => {
      const lines = tx
        .select({ id: auditLog.id })
        .from(auditLog)
        .where(and(eq(column, userId), gt(auditLog.id, after)))
        .orderBy(asc(auditLog.id))
        .limit(limit)
        .all()
        .map(({ id }) => id)
      tx.update(auditLog).set(change).where(inArray(auditLog.id, lines)).run()
      after = lines.at(-1) ?? after
      return lines.length
    }
    await inBatches(db, forget, signal)
  }
}

/** Deletes queued and sent mails to the account. */
async function forgetMails(db: Db, userId: string, signal: AbortSignal): Promise<void> {
  const rowid = sql<number>`rowid`
  const ends = db.select({ first: sql<number>`min(rowid)`, last: sql<number>`max(rowid)` }).from(jobs).get()
  const isTheirs = and(eq(jobs.kind, MAIL_JOB), eq(sql`json_extract(${jobs.payload}, '$.userId')`, userId))
  for (let from = ends?.first ?? 1; from <= (ends?.last ?? 0); from += WINDOW) {
    await spareTurn()
    signal.throwIfAborted()
    await write(db, (tx) =>
      tx
        .delete(jobs)
        .where(and(between(rowid, from, from + WINDOW - 1), isTheirs))
        .run(),
    )
  }
}
