import { randomBytes } from 'node:crypto'
import { and, count, desc, eq, isNull, type SQL } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Base } from '../../base.ts'
import type { SentMessage } from './schemas.ts'
import { type ChatSessionRow, chatSessions, type MessageRow, messages } from './tables.ts'

const IDLE_AFTER_MS = 30 * 60_000
const MAX_LISTED = 100

/**
 * `active`: messages without a session go here, and the last one is less than 30 minutes old. `idle`: the same, but
 * older. `completed`: another session is the current one, or the session is on another platform.
 */
type SessionStatus = 'active' | 'idle' | 'completed'

type SessionSummary = ChatSessionRow & { status: SessionStatus; messageCount: number }

/** Creates a session, which becomes the current one. */
export function createSession(clock: Clock, tx: Tx, userId: string, agentId: string): ChatSessionRow {
  const now = clock.now()
  return tx
    .insert(chatSessions)
    .values({ id: newSessionId(), userId, agentId, createdAt: now, lastActivity: now })
    .returning()
    .get()
}

export function newSessionId(): string {
  return `sess_${randomBytes(8).toString('hex')}`
}

/** Returns the agent's session key for a user's session, or for messages outside of sessions. */
export function toSessionKey(userId: string, sessionId: string | null): string {
  return sessionId === null ? `user:${userId}` : `user:${userId}:${sessionId}`
}

/** Returns the current web session, or null. */
export function findCurrentSession(db: Db, userId: string, agentId: string): ChatSessionRow | null {
  return newestFirst(db, userId, agentId, eq(chatSessions.platform, 'web')).limit(1).get() ?? null
}

/** @throws AppError `conflict` OTHER_PLATFORM for a session that the web cannot write to. */
export function requireWebSession({ platform }: ChatSessionRow): void {
  if (platform === 'web') return
  const message = `This conversation is held on ${platform}: it is answered there`
  throw new AppError('conflict', message, { code: 'OTHER_PLATFORM', platform })
}

/** @throws AppError `not_found` for a missing session or another user's. */
export function getSession(db: Db, userId: string, id: string): ChatSessionRow {
  const isOwn = and(eq(chatSessions.id, id), eq(chatSessions.userId, userId))
  const session = db.select().from(chatSessions).where(isOwn).get()
  if (!session) throw new AppError('not_found', 'Session not found')
  return session
}

/** Returns the instructions of a session, or null. */
export function findInstructions(db: Db, sessionId: string | null): string | null {
  if (sessionId === null) return null
  const isThis = eq(chatSessions.id, sessionId)
  const row = db.select({ instructions: chatSessions.instructions }).from(chatSessions).where(isThis).get()
  return row?.instructions ?? null
}

export function summarizeSessions(deps: Base, userId: string, agentId: string): SessionSummary[] {
  const current = findCurrentSession(deps.db, userId, agentId)
  return newestFirst(deps.db, userId, agentId)
    .limit(MAX_LISTED)
    .all()
    .map((session) => summarize(deps, session, { isCurrent: session.id === current?.id }))
}

/** @throws AppError `not_found` for a missing session or another user's. */
export function getSessionSummary(deps: Base, userId: string, id: string): SessionSummary {
  const session = getSession(deps.db, userId, id)
  const current = findCurrentSession(deps.db, userId, session.agentId)
  return summarize(deps, session, { isCurrent: current?.id === id })
}

function summarize({ db, clock }: Base, session: ChatSessionRow, { isCurrent }: { isCurrent: boolean }) {
  const inSession = eq(messages.sessionId, session.id)
  const messageCount = db.select({ lines: count() }).from(messages).where(inSession).get()?.lines ?? 0
  const isIdle = clock.now().getTime() - session.lastActivity.getTime() > IDLE_AFTER_MS
  const status: SessionStatus = isCurrent ? (isIdle ? 'idle' : 'active') : 'completed'
  return { ...session, messageCount, status }
}

/** Returns the last `limit` messages of a session, oldest first. */
export function listSessionMessages(db: Db, session: ChatSessionRow, limit: number): MessageRow[] {
  return db
    .select()
    .from(messages)
    .where(and(eq(messages.sessionId, session.id), isNull(messages.replacedBy)))
    .orderBy(desc(messages.sequence))
    .limit(limit)
    .all()
    .reverse()
}

function touchSession(clock: Clock, tx: Tx, id: string): void {
  tx.update(chatSessions).set({ lastActivity: clock.now() }).where(eq(chatSessions.id, id)).run()
}

function newestFirst(db: Db, userId: string, agentId: string, isWanted?: SQL) {
  return db
    .select()
    .from(chatSessions)
    .where(and(eq(chatSessions.userId, userId), eq(chatSessions.agentId, agentId), isWanted))
    .orderBy(desc(chatSessions.lastActivity), desc(chatSessions.sequence))
}

const MAX_TITLE_CHARACTERS = 60

/** Sets the title of a session without one, unless `title` is empty. */
export function nameSession(tx: Tx, id: string, title: string): void {
  if (title === '') return
  tx.update(chatSessions)
    .set({ title })
    .where(and(eq(chatSessions.id, id), isNull(chatSessions.title)))
    .run()
}

/** Returns the first line of a message, truncated at a word. */
export function toSessionTitle(message: string): string {
  const text = message.trim()
  const end = text.indexOf('\n')
  const line = (end === -1 ? text : text.slice(0, end)).trimEnd()
  // Limits the work: a character has at most two code units.
  const characters = [...line.slice(0, 2 * MAX_TITLE_CHARACTERS + 2)]
  if (characters.length <= MAX_TITLE_CHARACTERS) return line
  const cut = characters.slice(0, MAX_TITLE_CHARACTERS).join('')
  const space = cut.lastIndexOf(' ')
  return `${space > MAX_TITLE_CHARACTERS / 2 ? cut.slice(0, space) : cut}…`
}

type NewMessage = Pick<MessageRow, 'userId' | 'agentId' | 'sender' | 'content' | 'topic' | 'sessionId' | 'status'>

export function insertMessage(clock: Clock, tx: Tx, message: NewMessage): MessageRow {
  const { userId, agentId, sender, content, topic, sessionId, status } = message
  if (sessionId) touchSession(clock, tx, sessionId)
  return tx
    .insert(messages)
    .values({ id: newId('msg'), userId, agentId, sender, content, topic, sessionId, status, createdAt: clock.now() })
    .returning()
    .get()
}

export function describeSent({ id, agentId, content, topic, createdAt }: MessageRow, reply: string): SentMessage {
  return { id, agentId, message: content, topic, status: 'sent', timestamp: createdAt.toISOString(), reply }
}
