import { AppError } from '../../core/errors.ts'
import type { ModelEvent } from '../model.ts'
import type { TurnMarks, TurnOutcome } from '../state/turn-marks.ts'
import { runLoggedTurn, STOPPED, type TurnDeps, type TurnRequest, type TurnResult } from './turn.ts'

/** A turn that goes on whoever listens. `follow` tells all of it from its beginning, and then how it ended. */
export type KeptTurn = {
  /** Resolves once the turn has ended, or waits for its owner and others may run. */
  idle: Promise<unknown>
  /** Tells nothing more once `signal` has aborted. @throws AppError of a turn that failed; `conflict` TURN_STOPPED. */
  follow(onEvent: (event: ModelEvent) => void, signal: AbortSignal): Promise<TurnResult>
}

/** Turns that were given an id: each is run once, however often it is asked for, and is on disk with its end. */
export type KeptTurns = {
  /** The turn of this id, begun unless it is known. @throws as `find`. */
  beginOrJoin(id: string, request: KeptTurnRequest): Promise<KeptTurn>
  /** Null for one that was never begun. @throws AppError `conflict` TURN_INTERRUPTED for one that a crash cut short. */
  find(id: string): Promise<KeptTurn | null>
  /** Ends a turn that is running, which keeps what was said, and waits for it. */
  stop(id: string): Promise<void>
  /** Once nothing is running. */
  idle(): Promise<void>
}

type KeptTurnRequest = Pick<TurnRequest, 'sessionKey' | 'messages'>

type Running = KeptTurn & { result: Promise<TurnResult>; stopping: AbortController }

export function createKeptTurns(deps: TurnDeps & { marks: TurnMarks }): KeptTurns {
  const running = new Map<string, Running>()

  const begin = (id: string, request: KeptTurnRequest): Running => {
    const stopping = new AbortController()
    const events: ModelEvent[] = []
    const listeners = new Set<(event: ModelEvent) => void>()
    const mark = {
      begin: () => deps.marks.begin(id),
      end: (outcome: Pick<TurnOutcome, 'answer' | 'failure'>) =>
        deps.marks.end(id, { events: joinTexts(events), ...outcome }),
    }
    const waiting = Promise.withResolvers<void>()
    const kept = { ...request, mark, signal: stopping.signal, onWaitForOwner: waiting.resolve }
    const result = runLoggedTurn(deps, kept, (event) => {
      events.push(event)
      for (const listener of listeners) listener(event)
    }).finally(() => running.delete(id))
    // A turn goes on without a listener.
    const ended = result.catch(() => undefined)
    const turn: Running = {
      result,
      idle: Promise.race([ended, waiting.promise]),
      stopping,
      follow(onEvent, signal) {
        for (const event of events) onEvent(event)
        listeners.add(onEvent)
        signal.addEventListener('abort', () => listeners.delete(onEvent))
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
    if (!mark.end) {
      throw new AppError('conflict', 'The turn was interrupted when the agent ended', { code: 'TURN_INTERRUPTED' })
    }
    return replay(mark.end)
  }

  return {
    find,
    beginOrJoin: async (id, request) => (await find(id)) ?? begin(id, request),
    async stop(id) {
      const turn = running.get(id)
      turn?.stopping.abort(new AppError('conflict', 'The turn was stopped', { code: STOPPED }))
      await turn?.result.catch(() => undefined)
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

function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}

/** Pieces of text that follow one another become one. */
function joinTexts(events: readonly ModelEvent[]): TurnOutcome['events'] {
  const joined: ModelEvent[] = []
  for (const event of events) {
    const last = joined.at(-1)
    if (event.type === 'text' && last?.type === 'text') last.text += event.text
    else joined.push({ ...event })
  }
  return joined
}
