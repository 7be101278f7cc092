import { and, inArray, isNull, or } from 'drizzle-orm'
import type { Db } from '../../../../db/open.ts'
import type { TurnSummary } from '../schemas.ts'
import { chatTurns, type MessageRow } from '../tables.ts'
import { readFigures } from './figures.ts'
import { listToolCalls } from './store.ts'

/** The turns whose answers are among `rows`, by the id of the message; by that of the question where there is no answer. */
export function summarizeTurns(db: Db, rows: readonly MessageRow[]): Map<string, { turn: TurnSummary }> {
  const replyIds = rows.flatMap(({ id, sender }) => (sender === 'agent' ? [id] : []))
  const unanswered = rows.flatMap(({ id, sender, status }) => (sender === 'user' && status === 'failed' ? [id] : []))
  const isUnanswered = and(inArray(chatTurns.questionId, unanswered), isNull(chatTurns.replyId))
  const turns = db
    .select()
    .from(chatTurns)
    .where(or(inArray(chatTurns.replyId, replyIds), isUnanswered))
    .all()
  return new Map(
    turns.map((turn) => {
      const toolCalls = listToolCalls(db, turn.id).map(({ name, success, durationMs }) => ({
        name,
        success,
        durationMs,
      }))
      const { id, restarts, errorCode } = turn
      return [
        turn.replyId ?? turn.questionId,
        { turn: { id, restarts, errorCode, ...readFigures(db, turn), toolCalls } },
      ]
    }),
  )
}
