import { and, asc, eq } from 'drizzle-orm'
import type { Db } from '../../../../db/open.ts'
import type { ChatTurn, TurnQuery } from '../schemas.ts'
import { chatTurns, type MessageRow, messages, type TurnRow } from '../tables.ts'
import { readFigures } from './figures.ts'
import { createTurnLog, type TurnEvent, type TurnLog } from './log.ts'
import { findMessage, getTurn, listPieces, listToolCalls, toTurnError } from './store.ts'
import type { LiveTurn, Turns } from './turns.ts'

type ReadDeps = { db: Db; turns: Pick<Turns, 'find'> }

/** @throws AppError `not_found` for a missing turn and for someone else's. */
export function showTurn(deps: ReadDeps, userId: string, id: string): ChatTurn {
  const turn = getTurn(deps.db, userId, id)
  const question = findMessage(deps.db, turn.questionId)
  // A reference keeps the message while there is its turn.
  if (!question) throw new Error(`Turn ${id} has no message`)
  return toChatTurn(deps, turn, question)
}

/** A user's turns that are running, with all agents unless one is named. There are few: their number is limited. */
export function listRunningTurns(deps: ReadDeps, userId: string, query: TurnQuery): ChatTurn[] {
  return deps.db
    .select({ turn: chatTurns, question: messages })
    .from(chatTurns)
    .innerJoin(messages, eq(messages.id, chatTurns.questionId))
    .where(
      and(
        eq(chatTurns.state, 'running'),
        eq(chatTurns.userId, userId),
        query.agentId ? eq(chatTurns.agentId, query.agentId) : undefined,
      ),
    )
    .orderBy(asc(chatTurns.sequence))
    .all()
    .map(({ turn, question }) => toChatTurn(deps, turn, question))
}

/** What the agent has done in a turn: as it goes on here, as it was kept, or as its message and its calls have it. */
export function readLog({ db, turns }: ReadDeps, turn: TurnRow): TurnLog {
  const live = turns.find(turn.id)
  if (live) return live.log
  const events = turn.state === 'running' ? listPieces(db, turn.id) : listEnded(db, turn)
  const log = createTurnLog(events, turn)
  if (turn.state !== 'running') log.close()
  return log
}

/** Before each use of a tool stand as many characters as its position says, less one for each use before it. */
function listEnded(db: Db, turn: TurnRow): TurnEvent[] {
  const text = turn.replyId === null ? '' : (findMessage(db, turn.replyId)?.content ?? '')
  const events: TurnEvent[] = []
  let told = 0
  const addTextUpTo = (end: number) => {
    if (end > told) events.push({ type: 'text', text: text.slice(told, end) })
    told = Math.max(told, end)
  }
  for (const [index, { start, ...call }] of listToolCalls(db, turn.id).entries()) {
    addTextUpTo(start - turn.startPosition - index)
    events.push({ type: 'tool', ...call })
  }
  addTextUpTo(text.length)
  return events
}

/** A turn that has ended, as it would be found if it ended now. */
export function readEnded(deps: ReadDeps, turn: TurnRow): LiveTurn {
  const log = readLog(deps, turn)
  if (turn.state === 'failed') return { log, ended: Promise.resolve({ state: 'failed', error: toTurnError(turn) }) }
  return { log, ended: Promise.resolve({ state: turn.state === 'stopped' ? 'stopped' : 'done' }) }
}

export function toChatTurn(deps: ReadDeps, turn: TurnRow, question: MessageRow): ChatTurn {
  const log = readLog(deps, turn)
  return {
    id: turn.id,
    agentId: turn.agentId,
    sessionId: question.sessionId,
    questionId: turn.questionId,
    replyId: turn.replyId,
    state: turn.state,
    error: turn.error,
    errorCode: turn.errorCode,
    restarts: log.restarts,
    message: question.content,
    text: log.text(),
    position: log.end,
    toolCalls: log.toolCalls(),
    ...readFigures(deps.db, turn),
    createdAt: turn.createdAt.toISOString(),
    finishedAt: turn.finishedAt?.toISOString() ?? null,
  }
}
