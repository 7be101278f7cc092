import { AppError } from '../../core/errors.ts'
import type { ModelEvent, TurnMarks, TurnOutcome } from '../state/turn-marks.ts'
import { runLoggedTurn, STOPPED, type TurnDeps, type TurnRequest, type TurnResult } from './turn.ts'
import { TurnRecord, textOf, toInterrupted } from './turn-record.ts'

/** A turn that runs independently of its listeners. */
export type KeptTurn = {
  /** Resolves when the turn ends or waits for the owner, so the next turn may start. */
  idle: Promise<unknown>
  /**
   * Replays all events from the start and resolves with the result. Emits nothing after `signal` aborts.
   * @throws AppError of a failed turn; `conflict` TURN_STOPPED.
   */
  follow(onEvent: (event: ModelEvent) => void, signal: AbortSignal): Promise<TurnResult>
}

/**
 * Turns with an id: each runs once, however often it is requested, and its outcome is on disk. The next request for a
 * turn that a crash interrupted resumes it.
 */
export type KeptTurns = {
  /** Returns the turn with this id, and starts it if it is unknown. @throws as `find`. */
  beginOrJoin(id: string, request: KeptTurnRequest): Promise<KeptTurn>
  /** Returns null for an unknown id. @throws AppError `conflict` TURN_INTERRUPTED for a turn that cannot be resumed. */
  find(id: string): Promise<KeptTurn | null>
  /** Stops a running turn, keeps the text so far, and waits for its end. */
  stop(id: string): Promise<void>
  idle(): Promise<void>
}

type KeptTurnRequest = Pick<TurnRequest, 'sessionKey' | 'messages'>

type Running = KeptTurn & { result: Promise<TurnResult>; stopping: AbortController }

export function createKeptTurns(deps: TurnDeps & { marks: TurnMarks }): KeptTurns {
  const running = new Map<string, Running>()

  const run = (id: string, request: KeptTurnRequest, record: TurnRecord): Running => {
    const stopping = new AbortController()
    const waiting = Promise.withResolvers<void>()
    const kept = { ...request, record, signal: stopping.signal, onWaitForOwner: waiting.resolve }
    const result = runLoggedTurn(deps, kept, (event) => record.emit(event)).finally(() => running.delete(id))
    // A failure is reported to listeners; without any, it must not be an unhandled rejection.
    const ended = result.catch(() => undefined)
    const turn: Running = {
      result,
      idle: Promise.race([ended, waiting.promise]),
      stopping,
      follow(onEvent, signal) {
        record.follow(onEvent, signal)
        return result
      },
    }
    running.set(id, turn)
    return turn
  }

  const find = async (id: string): Promise<KeptTurn | null> => {
    const known = running.get(id)
    if (known) return known
    const mark = await deps.marks.find(id)
    // Another call may have started it while the disk was read.
    if (!mark || running.has(id)) return running.get(id) ?? null
    if (mark.end) return replay(mark.end)
    if (!mark.saved) throw toInterrupted([])
    return run(id, mark.saved, TurnRecord.resume({ marks: deps.marks, id }, mark.saved))
  }

  return {
    find,
    beginOrJoin: async (id, request) =>
      (await find(id)) ?? run(id, request, new TurnRecord({ marks: deps.marks, id }, request)),
    async stop(id) {
      const turn = running.get(id)
      const stopped = new AppError('conflict', 'The turn was stopped', { code: STOPPED })
      turn?.stopping.abort(stopped)
      await turn?.result.catch(() => undefined)
      // A later request must not resume an interrupted turn that was stopped.
      const left = turn ? null : await deps.marks.find(id)
      if (!left?.saved || left.end || running.has(id)) return
      const failure = { kind: stopped.kind, message: stopped.message, code: STOPPED }
      await deps.marks.end(id, { events: left.saved.events, answer: null, failure })
    },
    async idle() {
      await Promise.allSettled([...running.values()].map(({ result }) => result))
    },
  }
}

function replay({ events, answer, failure }: TurnOutcome): KeptTurn {
  return {
    idle: Promise.resolve(),
    async follow(onEvent) {
      for (const event of events) onEvent(event)
      if (answer) return { ...answer, text: textOf(events) }
      const { kind, message, code } = failure ?? { kind: 'internal', message: 'Internal error', code: undefined }
      // TURN_FAILED marks the failure as final, so callers do not retry.
      throw new AppError(kind, message, { code: code ?? 'TURN_FAILED' })
    },
  }
}
