import { and, desc, eq, lt } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Inbox, InboxMessage, InboxQuery } from './schemas.ts'
import { type InboxRow, inboxMessages } from './tables.ts'

/**
 * Returns a page of the mail of a user's agents, or of one agent.
 * @throws AppError `not_found` for another user's agent.
 */
export function listInbox(db: Db, user: SignedInUser, { agentId, limit, before }: InboxQuery): Inbox {
  if (agentId) getAgent(db, { kind: 'user', user }, agentId)
  const isOfAgent = agentId ? eq(inboxMessages.agentId, agentId) : undefined
  const isBefore = before ? lt(inboxMessages.sequence, sequenceOf(db, user.id, before)) : undefined
  const selection = db
    .select({ mail: inboxMessages })
    .from(inboxMessages)
    .innerJoin(agents, eq(agents.id, inboxMessages.agentId))
    .where(and(eq(agents.ownerId, user.id), isOfAgent, isBefore))
    .orderBy(desc(inboxMessages.sequence))
  const { rows, hasMore } = readPage(selection, limit)
  const messages = rows.map(({ mail }) => toInboxMessage(mail))
  return { messages, count: messages.length, hasMore }
}

/** Returns 0 for a mail that the user does not have: nothing precedes it. */
function sequenceOf(db: Db, userId: string, id: string): number {
  const row = db
    .select({ sequence: inboxMessages.sequence })
    .from(inboxMessages)
    .innerJoin(agents, eq(agents.id, inboxMessages.agentId))
    .where(and(eq(inboxMessages.id, id), eq(agents.ownerId, userId)))
    .get()
  return row?.sequence ?? 0
}

function toInboxMessage({ sequence: _, sender, receivedAt, deliveredAt, ...mail }: InboxRow): InboxMessage {
  return {
    id: mail.id,
    agentId: mail.agentId,
    from: sender,
    subject: mail.subject,
    text: mail.text,
    status: mail.status,
    reply: mail.reply,
    error: mail.error,
    receivedAt: receivedAt.toISOString(),
    deliveredAt: deliveredAt?.toISOString() ?? null,
    files: mail.files.map(({ name, path, problem }) => ({ name, path, problem })),
    answer: toAnswer(mail),
  }
}

/** Returns null for a mail that is not answered by mail. */
function toAnswer(mail: Pick<InboxRow, 'answerStatus' | 'answerError' | 'answeredAt'>): InboxMessage['answer'] {
  const { answerStatus: status, answerError: error, answeredAt } = mail
  return status && { status, error, sentAt: answeredAt?.toISOString() ?? null }
}
