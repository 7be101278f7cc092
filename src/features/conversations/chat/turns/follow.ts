import type { Db } from '../../../../db/open.ts'
import type { EventStream } from '../../../../http/streams/sse.ts'
import { describeSent } from '../messages.ts'
import type { SentMessage, ToolCall, TurnOver } from '../schemas.ts'
import type { MessageRow, TurnRow } from '../tables.ts'
import type { TurnEvent, TurnLog } from './log.ts'
import { readLog } from './read.ts'
import { findTurn, toTurnError } from './store.ts'
import type { Turns } from './turns.ts'

export type FollowDeps = { db: Db; turns: Pick<Turns, 'find'> }

/** How a turn that somebody followed has ended, as the event that says so. */
type LastEvent = { event: 'done'; data: SentMessage } | { event: 'stopped' | 'failed'; data: TurnOver }

/**
 * Sends what the agent says in a turn after the position `after`, each piece with the position behind it, until the turn has
 * ended; then how. Nothing ends a turn that this process does not carry on: the stream ends without a last event.
 */
export async function followTurn(
  deps: FollowDeps,
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

/** @returns the position behind the last event that was sent. */
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
  // Its agent was deleted, and the conversation with it.
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
