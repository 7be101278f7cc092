import { lt } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { addDays, type Clock, toMonth } from '../../../core/clock.ts'
import type { RetentionDays } from '../../../core/config.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Connection, Db } from '../../../db/open.ts'
import { giveBackSpace } from '../../../db/space.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { securityEvents } from '../../accounts/security-events/tables.ts'
import { BODY_DAYS } from '../../ai/requests/bodies.ts'
import { storedResponses } from '../../ai/responses/tables.ts'
import { requestBodies, toolEvents, usageEndUserMonths, usageLogs } from '../../ai/usage/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { inboxMessages } from '../../conversations/inbox/tables.ts'

type ForgetDeps = { db: Db; clock: Clock; retentionDays: RetentionDays }

/**
 * Tables with a retention, and the column that gives the age; daily and monthly sums are kept. Each column has an
 * index.
 */
const KEPT: Readonly<Record<keyof RetentionDays, { table: SQLiteTable; time: SQLiteColumn }>> = {
  usage: { table: usageLogs, time: usageLogs.createdAt },
  toolEvents: { table: toolEvents, time: toolEvents.createdAt },
  messages: { table: messages, time: messages.createdAt },
  audit: { table: auditLog, time: auditLog.createdAt },
  securityEvents: { table: securityEvents, time: securityEvents.receivedAt },
  inbox: { table: inboxMessages, time: inboxMessages.receivedAt },
}

/** Stored responses are kept this long after their last use in a conversation. */
const RESPONSE_DAYS = 30

/** Deletes rows older than their retention. @throws the reason of `signal`, between two steps. */
async function forgetOldRows({ db, clock, retentionDays }: ForgetDeps, signal: AbortSignal): Promise<void> {
  for (const [kind, { table, time }] of Object.entries(KEPT) as [keyof RetentionDays, (typeof KEPT)['usage']][]) {
    if (retentionDays[kind] === 0) continue
    await deleteInBatches(db, table, lt(time, addDays(clock.now(), -retentionDays[kind])), signal)
  }
  const now = clock.now()
  await deleteInBatches(db, requestBodies, lt(requestBodies.createdAt, addDays(now, -BODY_DAYS)), signal)
  await deleteInBatches(db, storedResponses, lt(storedResponses.usedAt, addDays(now, -RESPONSE_DAYS)), signal)
  if (retentionDays.usage === 0) return
  const oldest = toMonth(addDays(now, -retentionDays.usage))
  await deleteInBatches(db, usageEndUserMonths, lt(usageEndUserMonths.month, oldest), signal)
}

const HOUR_MS = 3_600_000

/** Deletes expired rows and returns their disk space, both in small steps. */
export function retentionJob(deps: ForgetDeps & { connection: Connection }): RepeatingJob {
  return {
    name: 'retention',
    everyMs: HOUR_MS,
    async run(signal) {
      await forgetOldRows(deps, signal)
      await giveBackSpace(deps.connection, signal)
    },
  }
}
