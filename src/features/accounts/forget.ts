import { and, eq, inArray, or, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { jobs } from '../../jobs/tables.ts'
import { auditLog } from '../administration/tables.ts'
import { invites } from '../invites/tables.ts'
import {
  addedDaySums,
  addedMonthSums,
  toolEvents,
  usageAlerts,
  usageDays,
  usageLogs,
  usageMonths,
} from '../usage/tables.ts'
import { MAIL_JOB } from './send-mail.ts'
import { referrals } from './tables.ts'

/** In place of the account and of its agents, whose ids carry names that people gave them. */
const NOBODY = 'deleted'
/** Rows a closure changes: other writers wait no longer than that takes. */
const BATCH = 500

/**
 * Takes a deleted account out of the records that stay, a batch at a time: usage keeps its sums, which bills and capacity
 * rest on, without saying whose it was. May be run again, and goes on where it ended.
 */
export async function forgetAccount(db: Db, userId: string, signal: AbortSignal): Promise<void> {
  for (const forget of [forgetCalls, forgetDays, forgetMonths]) {
    while ((await write(db, (tx) => forget(tx, userId))) > 0) signal.throwIfAborted()
  }
  await write(db, (tx) => forgetTraces(tx, userId))
}

function forgetCalls(tx: Tx, userId: string): number {
  const batch = tx.select({ id: usageLogs.id }).from(usageLogs).where(eq(usageLogs.userId, userId)).limit(BATCH)
  return tx
    .update(usageLogs)
    .set({ userId: NOBODY, agentId: NOBODY, errorMessage: null, keyId: null })
    .where(inArray(usageLogs.id, batch))
    .run().changes
}

function forgetDays(tx: Tx, userId: string): number {
  const days = tx.select().from(usageDays).where(eq(usageDays.userId, userId)).limit(BATCH).all()
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
      .values({ ...day, userId: NOBODY, agentId: NOBODY })
      .onConflictDoUpdate({
        target: [usageDays.userId, usageDays.day, usageDays.agentId, usageDays.model, usageDays.provider],
        set: addedDaySums,
      })
      .run()
  }
  return days.length
}

function forgetMonths(tx: Tx, userId: string): number {
  const months = tx.delete(usageMonths).where(eq(usageMonths.userId, userId)).returning().all()
  for (const month of months) {
    tx.insert(usageMonths)
      .values({ ...month, userId: NOBODY })
      .onConflictDoUpdate({
        target: [usageMonths.userId, usageMonths.month],
        set: addedMonthSums,
      })
      .run()
  }
  return 0
}

/** The audit log keeps that something happened and when, but no address and no words about the account. */
function forgetTraces(tx: Tx, userId: string): void {
  tx.update(auditLog).set({ address: null }).where(eq(auditLog.actor, userId)).run()
  tx.update(auditLog)
    .set({ detail: {} })
    .where(or(eq(auditLog.actor, userId), eq(auditLog.target, userId)))
    .run()
  tx.update(referrals).set({ referrerId: NOBODY }).where(eq(referrals.referrerId, userId)).run()
  tx.update(invites).set({ createdBy: NOBODY }).where(eq(invites.createdBy, userId)).run()
  tx.delete(toolEvents).where(eq(toolEvents.userId, userId)).run()
  tx.delete(usageAlerts).where(eq(usageAlerts.subject, userId)).run()
  tx.delete(jobs)
    .where(and(eq(jobs.kind, MAIL_JOB), eq(sql`json_extract(${jobs.payload}, '$.userId')`, userId)))
    .run()
}
