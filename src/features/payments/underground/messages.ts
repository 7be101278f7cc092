import { and, desc, eq, lt, type SQL } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { DELIVER_JOB } from './deliver-message.ts'
import type { MessagePage, MessageQuery, ShownMessage } from './schemas.ts'
import { type BusMessageRow, busMessages } from './tables.ts'

const PAGE = 100

/** What a user's agents have sent, newest first. */
export function listSentMessages(db: Db, userId: string, query: MessageQuery): MessagePage {
  return listPage(db, eq(busMessages.ownerId, userId), query)
}

/** Messages that nobody tries to deliver any more, newest first. */
export function listDeadLetters(db: Db, query: MessageQuery): MessagePage {
  return listPage(db, eq(busMessages.status, 'dead'), query)
}

/**
 * Has a dead letter delivered after all, with as many attempts as a new one.
 * @throws AppError `not_found` when there is no dead letter of this id.
 */
export async function replayDeadLetter(
  deps: { db: Db; clock: Clock; enqueue: Enqueue },
  admin: { id: string; address: string | null },
  id: number,
): Promise<ShownMessage> {
  const row = await write(deps.db, (tx) => {
    const isDead = and(eq(busMessages.id, id), eq(busMessages.status, 'dead'))
    const changed = tx.update(busMessages).set({ status: 'pending' }).where(isDead).returning().get()
    if (!changed) throw new AppError('not_found', 'Dead letter not found')
    deps.enqueue(tx, DELIVER_JOB, { id }, { share: changed.ownerId })
    const entry = { actor: admin.id, action: 'bus.replay', target: String(id), address: admin.address }
    recordAudit(tx, entry, deps.clock.now())
    return changed
  })
  return toShownMessage(row)
}

function listPage(db: Db, condition: SQL, { before }: MessageQuery): MessagePage {
  const rows = db
    .select()
    .from(busMessages)
    .where(and(condition, before === undefined ? undefined : lt(busMessages.id, before)))
    .orderBy(desc(busMessages.id))
    .limit(PAGE)
    .all()
  return { messages: rows.map(toShownMessage), next: rows.length === PAGE ? (rows.at(-1)?.id ?? null) : null }
}

function toShownMessage(row: BusMessageRow): ShownMessage {
  return {
    id: row.id,
    messageId: row.messageId,
    action: row.action,
    from: row.fromAgentId,
    to: row.toAgentId,
    status: row.status,
    attempts: row.attempts,
    lastError: row.lastError,
    createdAt: row.createdAt.toISOString(),
    deliveredAt: row.deliveredAt?.toISOString() ?? null,
  }
}
