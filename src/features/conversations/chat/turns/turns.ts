import type { AgentGateway } from '../../../../adapters/gateways/gateway.ts'
import type { Clock } from '../../../../core/clock.ts'
import { AppError, errorMessage } from '../../../../core/errors.ts'
import type { Log } from '../../../../core/log.ts'
import { write } from '../../../../db/write.ts'
import { describeFailure, toAppError } from '../../../../http/errors.ts'
import type { MessageRow, TurnRow } from '../tables.ts'
import { type AskDeps, type Asked, askAgent, endpointOf } from './ask.ts'
import { collectFigures, type FigureCollector } from './figures.ts'
import { createTurnLog, type TurnLog } from './log.ts'
import { createPieceKeeper } from './pieces.ts'
import { endTurn, findMessage, listPieces, listRunning, type TurnEnd } from './store.ts'

export type TurnsDeps = AskDeps & { clock: Clock; log: Log; gateway: Pick<AgentGateway, 'stopTurn'> }

/** A turn that this process carries on. `ended` never rejects: whatever goes wrong is an end as well. */
export type LiveTurn = { log: TurnLog; ended: Promise<TurnEnd> }

/**
 * The turns under way. A turn belongs to the platform and not to whoever asked: it goes on until the agent has answered,
 * somebody stops it, or the platform ends; then it is taken up at the next start.
 */
export type Turns = {
  /** Asks the agent, in the background. */
  start(turn: TurnRow, question: MessageRow): LiveTurn
  /** Goes on with a turn that was begun before, here or by an earlier process. */
  takeUp(turn: TurnRow, question: MessageRow): LiveTurn
  find(id: string): LiveTurn | undefined
  /** How many are under way. */
  count(): number
  /** Ends a turn, which keeps what was said. Nothing happens when it has ended. */
  stop(id: string): Promise<void>
  /** Takes up what an earlier process left, and what could not be recorded when it ended. */
  resume(): void
  /** Lets go of all turns, which stay as they are in the database. */
  close(): Promise<void>
}

type Running = LiveTurn & { stopping: AbortController }

/** Opens the turns of the platform: one for the whole program. */
export function createTurns(deps: TurnsDeps): Turns {
  const live = new Map<string, Running>()
  const closing = new AbortController()

  const begin = (turn: TurnRow, question: MessageRow, how: 'anew' | 'again'): Running => {
    const stopping = new AbortController()
    const log = createTurnLog(how === 'again' ? listPieces(deps.db, turn.id) : [], turn)
    const figures = collectFigures(turn)
    const ended = carryOn(
      deps,
      { turn, question, log, figures, how },
      { stopping: stopping.signal, closing: closing.signal },
    )
    const running = { log, ended: ended.finally(() => live.delete(turn.id)), stopping }
    live.set(turn.id, running)
    return running
  }

  return {
    start: (turn, question) => begin(turn, question, 'anew'),
    takeUp: (turn, question) => live.get(turn.id) ?? begin(turn, question, 'again'),
    find: (id) => live.get(id),
    count: () => live.size,
    async stop(id) {
      const running = live.get(id)
      running?.stopping.abort(new AppError('conflict', 'The reply was stopped', { code: 'TURN_STOPPED' }))
      await running?.ended
    },
    resume() {
      for (const turn of listRunning(deps.db)) {
        const question = live.has(turn.id) ? undefined : findMessage(deps.db, turn.questionId)
        if (question) begin(turn, question, 'again')
      }
    },
    async close() {
      closing.abort(new AppError('unavailable', 'The service is stopping'))
      await Promise.all([...live.values()].map(({ ended }) => ended))
    },
  }
}

type Work = Asked & { figures: FigureCollector }
type Signals = { stopping: AbortSignal; closing: AbortSignal }

async function carryOn(deps: TurnsDeps, work: Work, signals: Signals): Promise<TurnEnd> {
  const { turn, log } = work
  const keeper = createPieceKeeper(deps, work)
  try {
    const end = await answer(deps, work, signals, keeper.note)
    if (end.state === 'failed' && signals.closing.aborted) {
      // The next process goes on from here.
      await keeper.keepRest()
      return end
    }
    await keeper.stop()
    await write(deps.db, (tx) => endTurn(deps.clock, tx, turn, { log, figures: work.figures.read(), end }))
    return end
  } catch (error) {
    deps.log.error({ turn: turn.id, error: errorMessage(error) }, 'the end of a turn could not be recorded')
    return { state: 'failed', error: toAppError(error) }
  } finally {
    log.close()
  }
}

async function answer(deps: TurnsDeps, work: Work, signals: Signals, onEvent: () => void): Promise<TurnEnd> {
  const { stopping, closing } = signals
  try {
    for await (const event of askAgent(deps, work, AbortSignal.any([stopping, closing]))) {
      if (event.type === 'text' || event.type === 'tool' || event.type === 'restart') work.log.add(event)
      else work.figures.add(event)
      onEvent()
    }
    return { state: 'done' }
  } catch (error) {
    if (closing.aborted && !stopping.aborted) return { state: 'failed', error: toAppError(closing.reason) }
    await tellAgent(deps, work.turn)
    if (stopping.aborted || isStopped(error)) return { state: 'stopped' }
    if (!(error instanceof AppError))
      deps.log.error({ turn: work.turn.id, error: describeFailure(error) }, 'turn failed')
    return { state: 'failed', error: toAppError(error) }
  }
}

/** An agent that goes on without a connection is told that nobody waits any more. */
async function tellAgent(deps: TurnsDeps, turn: TurnRow): Promise<void> {
  try {
    await deps.gateway.stopTurn(endpointOf(deps, turn), turn.id)
  } catch (error) {
    deps.log.info({ turn: turn.id, error: errorMessage(error) }, 'the agent could not be told that a turn is over')
  }
}

/** The agent itself says so when another platform process had stopped it. */
function isStopped(error: unknown): boolean {
  return error instanceof AppError && error.extra.code === 'TURN_STOPPED'
}
