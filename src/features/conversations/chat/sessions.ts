import { randomBytes } from 'node:crypto'
import { and, count, desc, eq, isNull, type SQL } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { chatSessions, type MessageRow, messages, type SessionRow } from './tables.ts'

const IDLE_AFTER_MS = 30 * 60_000
/** The oldest of a longer list are not shown. */
const MAX_LISTED = 100

/**
 * `active`: a message without a session goes here, and the last word is less than half an hour old. `idle`: the same, but
 * silent for longer. `completed`: another session has taken its place, and naming it takes it up again; or it is held on
 * another platform.
 */
type SessionStatus = 'active' | 'idle' | 'completed'

/** A session as its owner sees it. */
type SessionSummary = SessionRow & { status: SessionStatus; messageCount: number }

type SessionDeps = { db: Db; clock: Clock }

/** Opens a conversation, which is then the one that goes on. */
export function createSession(clock: Clock, tx: Tx, userId: string, agentId: string): SessionRow {
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

/** The agent's name for a conversation of a user: one of their sessions, or what is said outside of all. */
export function toSessionKey(userId: string, sessionId: string | null): string {
  return sessionId === null ? `user:${userId}` : `user:${userId}:${sessionId}`
}

/** The conversation on the web that goes on, null before the first. */
export function findCurrentSession(db: Db, userId: string, agentId: string): SessionRow | null {
  return newestFirst(db, userId, agentId, eq(chatSessions.platform, 'web')).limit(1).get() ?? null
}

/** Refuses to write into a conversation of another platform. @throws AppError `conflict` OTHER_PLATFORM. */
export function requireWebSession({ platform }: SessionRow): void {
  if (platform === 'web') return
  const message = `This conversation is held on ${platform}: it is answered there`
  throw new AppError('conflict', message, { code: 'OTHER_PLATFORM', platform })
}

/** @throws AppError `not_found` for a missing session and for someone else's. */
export function getSession(db: Db, userId: string, id: string): SessionRow {
  const isOwn = and(eq(chatSessions.id, id), eq(chatSessions.userId, userId))
  const session = db.select().from(chatSessions).where(isOwn).get()
  if (!session) throw new AppError('not_found', 'Session not found')
  return session
}

/** What the agent is told in every turn of a session, null for none and outside of sessions. */
export function findInstructions(db: Db, sessionId: string | null): string | null {
  if (sessionId === null) return null
  const isThis = eq(chatSessions.id, sessionId)
  const row = db.select({ instructions: chatSessions.instructions }).from(chatSessions).where(isThis).get()
  return row?.instructions ?? null
}

/** Newest activity first. */
export function listSessions(deps: SessionDeps, userId: string, agentId: string): SessionSummary[] {
  const current = findCurrentSession(deps.db, userId, agentId)
  return newestFirst(deps.db, userId, agentId)
    .limit(MAX_LISTED)
    .all()
    .map((session) => summarize(deps, session, { isCurrent: session.id === current?.id }))
}

/** @throws AppError `not_found` for a missing session and for someone else's. */
export function getSessionSummary(deps: SessionDeps, userId: string, id: string): SessionSummary {
  const session = getSession(deps.db, userId, id)
  const current = findCurrentSession(deps.db, userId, session.agentId)
  return summarize(deps, session, { isCurrent: current?.id === id })
}

function summarize({ db, clock }: SessionDeps, session: SessionRow, { isCurrent }: { isCurrent: boolean }) {
  const inSession = eq(messages.sessionId, session.id)
  const messageCount = db.select({ lines: count() }).from(messages).where(inSession).get()?.lines ?? 0
  const isIdle = clock.now().getTime() - session.lastActivity.getTime() > IDLE_AFTER_MS
  const status: SessionStatus = isCurrent ? (isIdle ? 'idle' : 'active') : 'completed'
  return { ...session, messageCount, status }
}

/** The last `limit` lines of a session, oldest first. */
export function listSessionMessages(db: Db, session: SessionRow, limit: number): MessageRow[] {
  return db
    .select()
    .from(messages)
    .where(and(eq(messages.sessionId, session.id), isNull(messages.replacedBy)))
    .orderBy(desc(messages.sequence))
    .limit(limit)
    .all()
    .reverse()
}

/** Notes that something was said in a session. */
export function touchSession(clock: Clock, tx: Tx, id: string): void {
  tx.update(chatSessions).set({ lastActivity: clock.now() }).where(eq(chatSessions.id, id)).run()
}

function newestFirst(db: Db, userId: string, agentId: string, isWanted?: SQL) {
  return db
    .select()
    .from(chatSessions)
    .where(and(eq(chatSessions.userId, userId), eq(chatSessions.agentId, agentId), isWanted))
    .orderBy(desc(chatSessions.lastActivity), desc(chatSessions.sequence))
}
