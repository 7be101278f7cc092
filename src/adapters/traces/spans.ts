import type { Context, Span } from '@opentelemetry/api'
import { AppError } from '../../core/errors.ts'
import { currentRequestId } from '../../core/request-id.ts'
import { ProviderError } from '../models/provider.ts'

/** `SpanKind` and `SpanStatusCode.ERROR` of OpenTelemetry, which is loaded only where traces are sent. */
export const INTERNAL = 0
export const CLIENT = 2
const ERROR = 2

/** Runs `work` and ends the span with its outcome. */
export async function withinSpan<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    const result = await work(span)
    span.end()
    return result
  } catch (error) {
    endFailed(span, error)
    throw error
  }
}

/**
 * Records only the error's kind, because its message may quote user content. `endTime` is in ms and defaults to now.
 */
export function endFailed(span: Span, error: unknown, endTime?: number): void {
  const type = toErrorType(error)
  span.setAttribute('error.type', type)
  span.setStatus({ code: ERROR, message: type })
  span.end(endTime)
}

function toErrorType(error: unknown): string {
  if (error instanceof ProviderError) return error.failure
  if (error instanceof AppError) return error.kind
  return error instanceof Error ? error.name : '_OTHER'
}

/** Ends the span with the iteration; a consumer that stops early is no failure. */
export async function* followToEnd<T>(span: Span, items: AsyncIterable<T>, note: (item: T) => void): AsyncGenerator<T> {
  let failure: unknown = null
  try {
    for await (const item of items) {
      note(item)
      yield item
    }
  } catch (error) {
    failure = error
    throw error
  } finally {
    if (failure === null) span.end()
    else endFailed(span, failure)
  }
}

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
