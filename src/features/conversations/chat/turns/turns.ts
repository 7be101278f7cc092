import type { AgentGateway } from '../../../../adapters/gateways/gateway.ts'
import { AppError, errorMessage } from '../../../../core/errors.ts'
import { write } from '../../../../db/write.ts'
import { describeFailure, toAppError } from '../../../../http/errors.ts'
import type { Base } from '../../../base.ts'
import type { MessageRow, TurnRow } from '../tables.ts'
import { type Asked, requireTurnEndpoint, streamAnswer } from './ask.ts'
import { collectFigures, type FigureCollector } from './figures.ts'
import { createTurnLog, type TurnLog } from './log.ts'
import { endTurn, findMessage, keepPieces, listPieces, listRunning, type TurnEnd } from './store.ts'

type TurnsDeps = Base & { gateway: Pick<AgentGateway, 'streamTurn' | 'joinTurn' | 'stopTurn'> }

/** A turn that this process runs. `ended` never rejects: a failure is an outcome too. */
export type LiveTurn = { log: TurnLog; ended: Promise<TurnEnd> }

/**
 * Running turns. A turn belongs to the platform, not to the caller: it continues until the agent has answered, the user
 * stops it, or the platform stops; the next start resumes it.
 */
export type Turns = {
  /** Asks the agent in the background. */
  start(turn: TurnRow, question: MessageRow): LiveTurn
  /** Continues a turn that was started before, by this process or an earlier one. */
  takeUp(turn: TurnRow, question: MessageRow): LiveTurn
  find(id: string): LiveTurn | undefined
  count(): number
  /** Ends a turn and keeps its text. Does nothing for a finished one. */
  stop(id: string): Promise<void>
  /** Resumes turns of an earlier run, and turns whose outcome could not be saved. */
  resume(): void
  /** Disconnects from all turns, which stay `running` in the database. */
  close(): Promise<void>
}

type Running = LiveTurn & { stopping: AbortController }

/** Creates the registry of turns, one for the whole process. */
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
      // The platform continues the turn after its next start.
      await keeper.keepRest()
      return end
    }
    await keeper.stop()
    await write(deps.db, (tx) => endTurn(deps.clock, tx, turn, { log, figures: work.figures.read(), end }))
    // A former leader of a cluster cannot write, and must not stop a turn that its successor continues.
    if (end.state !== 'done') await stopAtAgent(deps, turn)
    return end
  } catch (error) {
    deps.log.error({ turn: turn.id, error: errorMessage(error) }, 'failed to save the outcome of a turn')
    return { state: 'failed', error: toAppError(error) }
  } finally {
    log.close()
  }
}

async function answer(deps: TurnsDeps, work: Work, signals: Signals, onEvent: () => void): Promise<TurnEnd> {
  const { stopping, closing } = signals
  try {
    for await (const event of streamAnswer(deps, work, AbortSignal.any([stopping, closing]))) {
      if (event.type === 'text' || event.type === 'tool' || event.type === 'restart') work.log.add(event)
      else work.figures.add(event)
      onEvent()
    }
    return { state: 'done' }
  } catch (error) {
    if (closing.aborted && !stopping.aborted) return { state: 'failed', error: toAppError(closing.reason) }
    if (stopping.aborted || isStopped(error)) return { state: 'stopped' }
    if (!(error instanceof AppError))
      deps.log.error({ turn: work.turn.id, error: describeFailure(error) }, 'turn failed')
    return { state: 'failed', error: toAppError(error) }
  }
}

/** Stops the turn at the agent, which would continue without a connection. */
async function stopAtAgent(deps: TurnsDeps, turn: TurnRow): Promise<void> {
  try {
    await deps.gateway.stopTurn(requireTurnEndpoint(deps, turn), turn.id)
  } catch (error) {
    deps.log.info({ turn: turn.id, error: errorMessage(error) }, 'failed to stop a turn at its agent')
  }
}

/** Another platform process has stopped the turn. */
function isStopped(error: unknown): boolean {
  return error instanceof AppError && error.extra.code === 'TURN_STOPPED'
}

/** Longest delay until text is on disk; small chunks share one write. */
const KEEP_MS = 200

type KeptTurn = { turn: TurnRow; log: TurnLog; figures: FigureCollector }

/** Saves events that are added to the log of a turn: call `note` after each. `stop` and `keepRest` end it. */
function createPieceKeeper(deps: Base, { turn, log, figures }: KeptTurn) {
  const turnId = turn.id
  let kept = log.end
  let timer: Timer | undefined
  let writing = Promise.resolve()

  const keep = async () => {
    const events = log.readAfter(kept)
    const last = events.at(-1)
    if (!last) return
    await write(deps.db, (tx) => keepPieces(tx, turnId, events, figures.read()))
    kept = last.end
  }
  const keepSoon = () => {
    timer = undefined
    writing = writing.then(keep).catch((error) => {
      deps.log.warn({ turn: turnId, error: errorMessage(error) }, 'failed to save the events of a turn; retrying')
    })
  }
  return {
    note() {
      timer ??= setTimeout(keepSoon, KEEP_MS)
    },
    async stop() {
      clearTimeout(timer)
      await writing
    },
    async keepRest() {
      clearTimeout(timer)
      keepSoon()
      await writing
    },
  }
}
