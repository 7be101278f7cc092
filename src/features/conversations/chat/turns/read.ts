import { and, asc, eq } from 'drizzle-orm'
import type { Db } from '../../../../db/open.ts'
import type { EventStream } from '../../../../http/streams/sse.ts'
import type { ChatTurn, SentMessage, ToolCall, TurnOver, TurnQuery } from '../schemas.ts'
import { describeSent } from '../sessions.ts'
import { chatTurns, type MessageRow, messages, type TurnRow } from '../tables.ts'
import { readFigures } from './figures.ts'
import { createTurnLog, type TurnEvent, type TurnLog } from './log.ts'
import { findMessage, findTurn, getTurn, listPieces, listToolCalls, toTurnError } from './store.ts'
import type { LiveTurn, Turns } from './turns.ts'

/** @throws AppError `not_found` for a missing turn or another user's. */
export function showTurn(deps: { db: Db; turns: Pick<Turns, 'find'> }, userId: string, id: string): ChatTurn {
  const turn = getTurn(deps.db, userId, id)
  const question = findMessage(deps.db, turn.questionId)
  // A foreign key keeps the message as long as its turn.
  if (!question) throw new Error(`Turn ${id} has no message`)
  return toChatTurn(deps, turn, question)
}

/** Lists a user's running turns, of all agents unless one is given. Their number is limited. */
export function listRunningTurns(
  deps: { db: Db; turns: Pick<Turns, 'find'> },
  userId: string,
  query: TurnQuery,
): ChatTurn[] {
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

/** Returns the events of a turn: live, from the saved chunks, or from the finished message and its tool calls. */
function readLog({ db, turns }: { db: Db; turns: Pick<Turns, 'find'> }, turn: TurnRow): TurnLog {
  const live = turns.find(turn.id)
  if (live) return live.log
  const events = turn.state === 'running' ? listPieces(db, turn.id) : listEnded(db, turn)
  const log = createTurnLog(events, turn)
  if (turn.state !== 'running') log.close()
  return log
}

/** A tool call's position is the number of characters before it plus the number of earlier calls. */
function listEnded(db: Db, turn: TurnRow): TurnEvent[] {
  const text = turn.replyId === null ? '' : (findMessage(db, turn.replyId)?.content ?? '')
  const events: TurnEvent[] = []
  let textEnd = 0
  const addTextUpTo = (end: number) => {
    if (end > textEnd) events.push({ type: 'text', text: text.slice(textEnd, end) })
    textEnd = Math.max(textEnd, end)
  }
  for (const [index, { start, ...call }] of listToolCalls(db, turn.id).entries()) {
    addTextUpTo(start - turn.startPosition - index)
    events.push({ type: 'tool', ...call })
  }
  addTextUpTo(text.length)
  return events
}

/** Returns a finished turn in the form of a live one. */
export function readEnded(deps: { db: Db; turns: Pick<Turns, 'find'> }, turn: TurnRow): LiveTurn {
  const log = readLog(deps, turn)
  if (turn.state === 'failed') return { log, ended: Promise.resolve({ state: 'failed', error: toTurnError(turn) }) }
  return { log, ended: Promise.resolve({ state: turn.state === 'stopped' ? 'stopped' : 'done' }) }
}

function toChatTurn(deps: { db: Db; turns: Pick<Turns, 'find'> }, turn: TurnRow, question: MessageRow): ChatTurn {
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

type LastEvent = { event: 'done'; data: SentMessage } | { event: 'stopped' | 'failed'; data: TurnOver }

/**
 * Sends a turn's events after the position `after`, each with its own position, and finally the outcome. If this
 * process does not run the turn, the stream ends without an outcome.
 */
export async function followTurn(
  deps: { db: Db; turns: Pick<Turns, 'find'> },
  { turn, question }: { turn: TurnRow; question: MessageRow },
  after: number,
  { send, signal }: Pick<EventStream, 'send' | 'signal'>,
): Promise<void> {
  const live = deps.turns.find(turn.id)
  const log = live?.log ?? readLog(deps, turn)
  const sent = await sendLog(log, after, { send, signal, isOver: !live })
  if (live && !signal.aborted) await live.ended
  const last = signal.aborted ? null : describeEnd(findTurn(deps.db, turn.id), question, log.text())
  if (last) await send(last.event, last.data, sent + 1)
}

/** @returns the position of the last event sent. */
async function sendLog(
  log: TurnLog,
  after: number,
  { send, signal, isOver }: Pick<EventStream, 'send' | 'signal'> & { isOver: boolean },
): Promise<number> {
  let position = after
  for (;;) {
    for (const { end, event } of log.readAfter(position)) {
      if (event.type === 'text') await send('delta', { text: event.text }, end)
      else if (event.type === 'restart') await send('restart', { restarts: event.restarts }, end)
      else await send('tool', toToolData(event), end)
      position = end
      if (signal.aborted) return position
    }
    if (isOver || log.isClosed) return position
    await log.changed(position, signal)
    if (signal.aborted) return position
  }
}

function toToolData({ type: _, ...call }: Extract<TurnEvent, { type: 'tool' }>): ToolCall {
  return call
}

function describeEnd(turn: TurnRow | undefined, question: MessageRow, reply: string): LastEvent | null {
  // The agent was deleted with its conversations.
  if (!turn) return { event: 'failed', data: { turnId: '', error: 'The conversation was deleted', reply } }
  switch (turn.state) {
    case 'running':
      return null
    case 'done':
      return { event: 'done', data: describeSent(question, reply) }
    case 'stopped':
      return {
        event: 'stopped',
        data: { turnId: turn.id, error: 'The reply was stopped', code: 'TURN_STOPPED', reply },
      }
    case 'failed': {
      const { message: error, extra } = toTurnError(turn)
      const code = typeof extra.code === 'string' ? { code: extra.code } : {}
      return { event: 'failed', data: { turnId: turn.id, error, ...code, reply } }
    }
  }
}
