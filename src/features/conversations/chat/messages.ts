import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import type { SentMessage } from './schemas.ts'
import { touchSession } from './sessions.ts'
import { type MessageRow, messages } from './tables.ts'

export type NewMessage = Pick<
  MessageRow,
  'userId' | 'agentId' | 'sender' | 'content' | 'topic' | 'sessionId' | 'status'
>

/** Adds a line to a conversation. */
export function insertMessage(clock: Clock, tx: Tx, message: NewMessage): MessageRow {
  const { userId, agentId, sender, content, topic, sessionId, status } = message
  if (sessionId) touchSession(clock, tx, sessionId)
  return tx
    .insert(messages)
    .values({ id: newId('msg'), userId, agentId, sender, content, topic, sessionId, status, createdAt: clock.now() })
    .returning()
    .get()
}

/** A message with the whole reply to it. */
export function describeSent({ id, agentId, content, topic, createdAt }: MessageRow, reply: string): SentMessage {
  return { id, agentId, message: content, topic, status: 'sent', timestamp: createdAt.toISOString(), reply }
}
