import { inArray } from 'drizzle-orm'
import type { Db } from '../../../../db/open.ts'
import type { TurnSummary } from '../schemas.ts'
import { chatTurns, type MessageRow } from '../tables.ts'
import { readFigures } from './figures.ts'
import { listToolCalls } from './store.ts'

/** The turns whose answers are among `rows`, by the id of the message. */
export function summarizeTurns(db: Db, rows: readonly MessageRow[]): Map<string, { turn: TurnSummary }> {
  const replyIds = rows.flatMap(({ id, sender }) => (sender === 'agent' ? [id] : []))
  const turns = db.select().from(chatTurns).where(inArray(chatTurns.replyId, replyIds)).all()
  return new Map(
    turns.map((turn) => {
      const toolCalls = listToolCalls(db, turn.id).map(({ name, success, durationMs }) => ({
        name,
        success,
        durationMs,
      }))
      return [turn.replyId ?? '', { turn: { id: turn.id, ...readFigures(db, turn), toolCalls } }]
    }),
  )
}
