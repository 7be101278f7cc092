import { and, asc, eq, lt } from 'drizzle-orm'
import type { AgentToolCall } from '../../../../adapters/gateways/stream.ts'
import type { Clock } from '../../../../core/clock.ts'
import { AppError, type ErrorKind } from '../../../../core/errors.ts'
import { newId } from '../../../../core/ids.ts'
import { requireQuota } from '../../../../core/require-quota.ts'
import { countRows } from '../../../../db/count-rows.ts'
import type { Db, Tx } from '../../../../db/open.ts'
import { insertMessage } from '../sessions.ts'
import { chatToolCalls, chatTurnPieces, chatTurns, type MessageRow, messages, type TurnRow } from '../tables.ts'
import type { IdempotencyKey } from './idempotency.ts'
import { joinEvents, type PlacedEvent, type TurnEvent, type TurnLog } from './log.ts'

/** Maximum number of concurrent turns per user. Turns continue when the caller disconnects. */
const MAX_RUNNING_OF_USER = 20

/** Usage that the agent has reported so far. */
export type UsageColumns = Pick<TurnRow, 'model' | 'inputTokens' | 'outputTokens' | 'generationIds' | 'endedBy'>

/** Kinds of failures before which the agent did nothing. */
const RETRIED: ReadonlySet<ErrorKind> = new Set(['limited', 'unavailable'])

/** Outcome of a turn. */
export type TurnEnd = { state: 'done' | 'stopped' } | { state: 'failed'; error: AppError }

/** @throws AppError `limited` {current, limit} when too many turns of the user are running. */
export function insertTurn(
  clock: Clock,
  tx: Tx,
  question: MessageRow,
  { sessionKey, once }: { sessionKey: string; once: IdempotencyKey | undefined },
): TurnRow {
  const { id: questionId, userId, agentId } = question
  requireTurnQuota(tx, userId)
  const asked = { id: newId('turn'), userId, agentId, questionId, sessionKey, createdAt: clock.now() }
  const request = { requestKey: once?.key ?? null, requestHash: once?.hash ?? null }
  const row = { ...asked, ...request, state: 'running' } as const
  return tx.insert(chatTurns).values(row).returning().get()
}

function requireTurnQuota(tx: Tx, userId: string): void {
  const isRunning = and(eq(chatTurns.state, 'running'), eq(chatTurns.userId, userId))
  const current = countRows(tx, chatTurns, isRunning)
  requireQuota({ current, limit: MAX_RUNNING_OF_USER, message: 'Too many replies are under way' })
}

/** Saves new events. Does nothing when the turn was deleted. */
export function keepPieces(tx: Tx, turnId: string, events: readonly PlacedEvent[], figures: UsageColumns): void {
  if (!findTurn(tx, turnId)) return
  for (const { start, event } of joinEvents(events)) {
    if (event.type === 'restart') dropBefore(tx, turnId, { start, restarts: event.restarts })
    else if (event.type === 'tool') keepToolCall(tx, turnId, start, event)
    else tx.insert(chatTurnPieces).values({ turnId, start, text: event.text }).onConflictDoNothing().run()
  }
  tx.update(chatTurns).set(figures).where(eq(chatTurns.id, turnId)).run()
}

/** Deletes events before a restart. */
function dropBefore(tx: Tx, turnId: string, { start, restarts }: { start: number; restarts: number }): void {
  const isDropped = and(eq(chatTurnPieces.turnId, turnId), lt(chatTurnPieces.start, start))
  tx.delete(chatTurnPieces).where(isDropped).run()
  tx.delete(chatToolCalls)
    .where(and(eq(chatToolCalls.turnId, turnId), lt(chatToolCalls.start, start)))
    .run()
  tx.update(chatTurns)
    .set({ restarts, startPosition: start + 1 })
    .where(eq(chatTurns.id, turnId))
    .run()
}

function keepToolCall(
  tx: Tx,
  turnId: string,
  start: number,
  { type: _, ...call }: { type: 'tool' } & AgentToolCall,
): void {
  tx.insert(chatToolCalls)
    .values({ turnId, start, ...call })
    .onConflictDoNothing()
    .run()
}

/** Lists the tool calls of a turn with their positions. */
export function listToolCalls(db: Db | Tx, turnId: string): (AgentToolCall & { start: number })[] {
  return db
    .select()
    .from(chatToolCalls)
    .where(eq(chatToolCalls.turnId, turnId))
    .orderBy(asc(chatToolCalls.start))
    .all()
    .map(({ turnId: _, ...call }) => call)
}

/** Returns the saved events of a running turn. */
export function listPieces(db: Db | Tx, turnId: string): TurnEvent[] {
  const isOfTurn = eq(chatTurnPieces.turnId, turnId)
  const texts = db.select().from(chatTurnPieces).where(isOfTurn).all()
  return [
    ...texts.map(({ start, text }) => ({ start, event: { type: 'text' as const, text } })),
    ...listToolCalls(db, turnId).map(({ start, ...call }) => ({ start, event: { type: 'tool' as const, ...call } })),
  ]
    .sort((one, other) => one.start - other.start)
    .map(({ event }) => event)
}

/**
 * Ends a running turn: the text becomes the agent's message, complete or partial.
 * @returns the updated row; null when the turn was deleted or has already ended.
 */
export function endTurn(
  clock: Clock,
  tx: Tx,
  { id }: TurnRow,
  { log, figures, end }: { log: TurnLog; figures: UsageColumns; end: TurnEnd },
): TurnRow | null {
  const turn = findTurn(tx, id)
  const question = turn?.state === 'running' ? findMessage(tx, turn.questionId) : undefined
  if (!turn || !question) return null
  const content = log.text()
  const status = end.state === 'done' ? 'sent' : end.state
  const hasReply = end.state === 'done' || content !== ''
  const reply = hasReply ? insertMessage(clock, tx, { ...question, sender: 'agent', content, status }) : null
  // A partial reply counts as answered unless the turn failed.
  const isAnswered = end.state === 'done' || (end.state === 'stopped' && hasReply)
  if (!isAnswered) tx.update(messages).set({ status }).where(eq(messages.id, question.id)).run()
  keepPieces(tx, id, log.readAfter(0), figures)
  tx.delete(chatTurnPieces).where(eq(chatTurnPieces.turnId, id)).run()
  // The error asks the caller to retry, so the key must not return the same error again.
  const isToTryAgain = end.state === 'failed' && !hasReply && RETRIED.has(end.error.kind)
  return tx
    .update(chatTurns)
    .set({
      state: end.state,
      replyId: reply?.id ?? null,
      ...toErrorColumns(end),
      finishedAt: clock.now(),
      ...(isToTryAgain && { requestKey: null }),
    })
    .where(eq(chatTurns.id, id))
    .returning()
    .get()
}

/** Returns the error of a failed turn. */
export function toTurnError({ errorKind, error, errorCode }: TurnRow): AppError {
  const extra = errorCode === null ? {} : { code: errorCode }
  return new AppError((errorKind ?? 'internal') as ErrorKind, error ?? 'Internal error', extra)
}

export function findTurn(db: Db | Tx, id: string): TurnRow | undefined {
  return db.select().from(chatTurns).where(eq(chatTurns.id, id)).get()
}

/** @throws AppError `not_found` for a missing turn or another user's. */
export function getTurn(db: Db, userId: string, id: string): TurnRow {
  const isOwn = and(eq(chatTurns.id, id), eq(chatTurns.userId, userId))
  const turn = db.select().from(chatTurns).where(isOwn).get()
  if (!turn) throw new AppError('not_found', 'Turn not found')
  return turn
}

/** Lists the running turns of all users. */
export function listRunning(db: Db): TurnRow[] {
  return db.select().from(chatTurns).where(eq(chatTurns.state, 'running')).orderBy(asc(chatTurns.sequence)).all()
}

export function findMessage(db: Db | Tx, id: string): MessageRow | undefined {
  return db.select().from(messages).where(eq(messages.id, id)).get()
}

function toErrorColumns(end: TurnEnd) {
  if (end.state !== 'failed') return {}
  const { kind, message, extra } = end.error
  return { errorKind: kind, error: message, errorCode: typeof extra.code === 'string' ? extra.code : null }
}
