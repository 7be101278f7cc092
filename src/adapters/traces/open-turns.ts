import type { Context, Span } from '@opentelemetry/api'
import { currentRequestId } from '../../core/request-id.ts'

/** Turns that are told of now, by the request that each is part of. */
export type OpenTurns = {
  add(turn: Span): void
  /** Where spans of the present request belong: below its turn, or nowhere when it has none. */
  findContext(): Context | undefined
}

/**
 * An agent asks models in a request of its own, which carries the id of the one that its turn came by: what the platform
 * tells of the call stands below the turn. `below` makes spans below another one.
 */
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
