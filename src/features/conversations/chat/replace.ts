import { and, desc, eq, gte, isNull, like, lt, not, or, type SQL } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { toAgentMessage } from './attachments.ts'
import { toSessionKey } from './sessions.ts'
import { chatTurns, type MessageRow, messages } from './tables.ts'

/** Most earlier messages that the agent gets when a conversation branches. */
const MAX_SENT_MESSAGES = 60
const MAX_SENT_CHARACTERS = 200_000

/** Topics of swarm messages, which are separate from the user's conversation. */
const OF_SWARMS = 'swarm:%'

/**
 * Returns a question that the user may replace.
 * @throws AppError `not_found` for a missing, replaced or another user's question; `conflict` TURN_RUNNING while it or
 * a later one is being answered.
 */
export function getReplaceable(
  tx: Tx,
  { userId, agentId }: { userId: string; agentId: string },
  id: string,
): MessageRow {
  const isOwn = and(eq(messages.id, id), eq(messages.userId, userId), eq(messages.agentId, agentId))
  const question = tx
    .select()
    .from(messages)
    .where(and(isOwn, eq(messages.sender, 'user'), eq(messages.platform, 'web'), isNull(messages.replacedBy)))
    .get()
  if (!question) throw new AppError('not_found', 'Message not found')
  if (isBeingAnswered(tx, userId, question)) {
    throw new AppError('conflict', 'The reply is still under way', { code: 'TURN_RUNNING' })
  }
  return question
}

function isBeingAnswered(tx: Tx, userId: string, question: MessageRow): boolean {
  const running = tx
    .select({ id: chatTurns.id })
    .from(chatTurns)
    .innerJoin(messages, eq(messages.id, chatTurns.questionId))
    .where(and(eq(chatTurns.state, 'running'), eq(chatTurns.userId, userId), isFrom(question)))
    .get()
  return running !== undefined
}

/** Marks a question and everything after it as replaced; it stays readable. */
export function replaceFrom(tx: Tx, replaced: MessageRow, by: MessageRow): void {
  tx.update(messages)
    .set({ replacedBy: by.id })
    .where(and(isFrom(replaced), lt(messages.sequence, by.sequence), isNull(messages.replacedBy)))
    .run()
}

/** Returns the session key of a conversation that branches at `question`, where the agent's history differs. */
export function toBranchKey({ userId, sessionId, id }: MessageRow): string {
  return `${toSessionKey(userId, sessionId)}:${id}`
}

/** Returns the current session key of a conversation. */
export function findSessionKey(db: Db | Tx, place: Pick<MessageRow, 'userId' | 'agentId' | 'sessionId'>): string {
  const key = toSessionKey(place.userId, place.sessionId)
  const findLast = (isOfPlace: SQL | undefined) =>
    db
      .select({ sequence: chatTurns.sequence, sessionKey: chatTurns.sessionKey })
      .from(chatTurns)
      .where(and(eq(chatTurns.agentId, place.agentId), isOfPlace))
      .orderBy(desc(chatTurns.sequence))
      .limit(1)
      .get()
  const plain = findLast(eq(chatTurns.sessionKey, key))
  // Message ids have the prefix `msg_`, and a backquote sorts right after the underscore.
  const branch = findLast(and(gte(chatTurns.sessionKey, `${key}:msg_`), lt(chatTurns.sessionKey, `${key}:msg\``)))
  const last = (branch?.sequence ?? 0) > (plain?.sequence ?? 0) ? branch : plain
  return last?.sessionKey ?? key
}

type EarlierMessage = { role: 'user' | 'assistant'; content: string; images?: string[] }

/** Returns the messages that precede `question`, if its turn starts a new branch; otherwise none. */
export function listMessagesBefore(db: Db, question: MessageRow, sessionKey: string): EarlierMessage[] {
  if (sessionKey !== toBranchKey(question)) return []
  const isBefore = and(isInPlace(question), lt(messages.sequence, question.sequence), isNull(messages.replacedBy))
  const newestFirst = db
    .select({ id: messages.id, sender: messages.sender, content: messages.content })
    .from(messages)
    .where(isBefore)
    .orderBy(desc(messages.sequence))
    .limit(MAX_SENT_MESSAGES)
    .all()
  return dropTooLong(newestFirst)
    .toReversed()
    .map(({ id, sender, content }) => {
      if (sender === 'agent') return { role: 'assistant', content }
      return { role: 'user', ...toAgentMessage(db, { id, content }) }
    })
}

/** Keeps lines up to the limit and drops the rest. */
function dropTooLong<Line extends { content: string }>(lines: Line[]): Line[] {
  let characters = 0
  return lines.filter(({ content }) => {
    characters += content.length
    return characters <= MAX_SENT_CHARACTERS
  })
}

function isFrom(question: MessageRow): SQL | undefined {
  return and(isInPlace(question), gte(messages.sequence, question.sequence))
}

function isInPlace({ userId, agentId, sessionId }: MessageRow): SQL | undefined {
  return and(
    eq(messages.userId, userId),
    eq(messages.agentId, agentId),
    sessionId === null ? isNull(messages.sessionId) : eq(messages.sessionId, sessionId),
    or(isNull(messages.topic), not(like(messages.topic, OF_SWARMS))),
  )
}
