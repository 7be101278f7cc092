import { AppError } from '../../core/errors.ts'
import type { TurnMarks, TurnOutcome } from '../state/turn-marks.ts'
import type { ModelEvent } from './model-event.ts'
import { runLoggedTurn, STOPPED, type TurnDeps, type TurnRequest, type TurnResult } from './turn.ts'
import { TurnRecord, textOf, toInterrupted } from './turn-record.ts'

/** A turn that goes on whoever listens. `follow` tells all of it from its beginning, and then how it ended. */
export type KeptTurn = {
  /** Resolves once the turn has ended, or waits for its owner and others may run. */
  idle: Promise<unknown>
  /** Tells nothing more once `signal` has aborted. @throws AppError of a turn that failed; `conflict` TURN_STOPPED. */
  follow(onEvent: (event: ModelEvent) => void, signal: AbortSignal): Promise<TurnResult>
}

/**
 * Turns that were given an id: each is answered once, however often it is asked for, and is on disk with its end. One that a
 * crash cut short is taken up again by the next caller who asks for it.
 */
export type KeptTurns = {
  /** The turn of this id, begun unless it is known. @throws as `find`. */
  beginOrJoin(id: string, request: KeptTurnRequest): Promise<KeptTurn>
  /** Null for one that was never begun. @throws AppError `conflict` TURN_INTERRUPTED for one that cannot be taken up again. */
  find(id: string): Promise<KeptTurn | null>
  /** Ends a turn that is running, which keeps what was said, and waits for it. */
  stop(id: string): Promise<void>
  /** Resolves when nothing is running. */
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
    const result = runLoggedTurn(deps, kept, (event) => record.tell(event)).finally(() => running.delete(id))
    // A turn goes on without a listener.
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
    // It may have been begun while the disk was asked.
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
      // One that a crash cut short must not be taken up again by a caller who comes later.
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
      // Whoever asks again is told that asking once more changes nothing.
      throw new AppError(kind, message, { code: code ?? 'TURN_FAILED' })
    },
  }
}
