import type { Context, Span } from '@opentelemetry/api'
import { currentRequestId } from '../../core/request-id.ts'

/** Turns in progress, by request id. */
export type OpenTurns = {
  add(turn: Span): void
  /** Returns the parent context for spans of the current request, if it belongs to a turn. */
  findContext(): Context | undefined
}

/** Links an agent's model requests to its turn by the turn's request id. `below` creates a child context. */
export function createOpenTurns(below: (span: Span) => Context): OpenTurns {
  const turns = new Map<string, Span>()
  return {
    add(turn) {
      for (const [requestId, earlier] of turns) if (!earlier.isRecording()) turns.delete(requestId)
      const requestId = currentRequestId()
      if (requestId !== undefined) turns.set(requestId, turn)
    },
    findContext() {
      const turn = turns.get(currentRequestId() ?? '')
      return turn?.isRecording() ? below(turn) : undefined
    },
  }
}
