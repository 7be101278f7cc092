import { and, desc, eq, gte, isNull, like, lt, not, or, type SQL } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { tellWithAttachments } from './attachments.ts'
import { toSessionKey } from './sessions.ts'
import { chatTurns, type MessageRow, messages } from './tables.ts'

/** So much of what was said before is told to the agent when a conversation goes another way. */
const MAX_TOLD_MESSAGES = 60
const MAX_TOLD_CHARACTERS = 200_000

/** Beside the conversation of a user run those of their swarms. */
const OF_SWARMS = 'swarm:%'

/**
 * The question of a user that another is to take the place of.
 * @throws AppError `not_found` for what is no question of theirs to this agent, or was replaced before; `conflict`
 * TURN_RUNNING while it, or one after it, is being answered.
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

/** Is it, or one after it, being answered? */
function isBeingAnswered(tx: Tx, userId: string, question: MessageRow): boolean {
  const running = tx
    .select({ id: chatTurns.id })
    .from(chatTurns)
    .innerJoin(messages, eq(messages.id, chatTurns.questionId))
    .where(and(eq(chatTurns.state, 'running'), eq(chatTurns.userId, userId), isFrom(question)))
    .get()
  return running !== undefined
}

/** Takes a question and all that was said after it out of its conversation; it can still be read. */
export function replaceFrom(tx: Tx, replaced: MessageRow, by: MessageRow): void {
  tx.update(messages)
    .set({ replacedBy: by.id })
    .where(and(isFrom(replaced), lt(messages.sequence, by.sequence), isNull(messages.replacedBy)))
    .run()
}

/** The agent's name for a conversation that goes another way from `question` on: what it had heard before is another one. */
export function toBranchKey({ userId, sessionId, id }: MessageRow): string {
  return `${toSessionKey(userId, sessionId)}:${id}`
}

/** The agent's name for a conversation as it goes on now. */
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
  // `_` and the character behind it bound all ids of messages.
  const branch = findLast(and(gte(chatTurns.sessionKey, `${key}:msg_`), lt(chatTurns.sessionKey, `${key}:msg\``)))
  const last = (branch?.sequence ?? 0) > (plain?.sequence ?? 0) ? branch : plain
  return last?.sessionKey ?? key
}

type ToldMessage = { role: 'user' | 'assistant'; content: string; images?: string[] }

/** What an agent has to be told before `question` when its conversation begins with it; nothing where it goes on. */
export function listToldBefore(db: Db, question: MessageRow, sessionKey: string): ToldMessage[] {
  if (sessionKey !== toBranchKey(question)) return []
  const isBefore = and(isInPlace(question), lt(messages.sequence, question.sequence), isNull(messages.replacedBy))
  const newestFirst = db
    .select({ id: messages.id, sender: messages.sender, content: messages.content })
    .from(messages)
    .where(isBefore)
    .orderBy(desc(messages.sequence))
    .limit(MAX_TOLD_MESSAGES)
    .all()
  return dropTooLong(newestFirst)
    .toReversed()
    .map(({ id, sender, content }) => {
      if (sender === 'agent') return { role: 'assistant', content }
      return { role: 'user', ...tellWithAttachments(db, { id, content }) }
    })
}

/** What fits into the characters that are told, and nothing that follows. */
function dropTooLong<Line extends { content: string }>(lines: Line[]): Line[] {
  let characters = 0
  return lines.filter(({ content }) => {
    characters += content.length
    return characters <= MAX_TOLD_CHARACTERS
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
