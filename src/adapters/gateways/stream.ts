import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import {
  BrokenConnection,
  type Call,
  createBounds,
  Problem,
  parseJson,
  readText,
  send,
  toGatewayError,
  toProblemError,
  toStatusError,
} from './http.ts'

const MAX_STREAM_BYTES = 16 * 1024 * 1024

/** `idleMs` is for any byte, so an agent that says it is alive may think for longer. */
type StreamTimeouts = { idleMs: number; totalMs: number }

const Chunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }).nullish() })),
})

/** The pieces of a streamed reply in OpenAI's form. @throws AppError when it breaks off, or says that it failed. */
export async function* streamReply(
  plainFetch: typeof fetch,
  timeouts: StreamTimeouts,
  call: Call,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const bounded = createBounds(timeouts.idleMs, timeouts.totalMs, signal)
  try {
    const response = await send(plainFetch, call, bounded.signal)
    if (!response.ok) throw toStatusError(response.status, await readText(response))
    if (!/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
      await response.body?.cancel()
      throw new AppError('upstream_failed', 'The agent answered something that is not a reply')
    }
    yield* readDeltas(response, bounded.restart)
  } catch (error) {
    throw toGatewayError(error, bounded.signal)
  } finally {
    // Also when the reader of the deltas leaves early: the agent must not go on for nobody.
    bounded.abort()
  }
}

async function* readDeltas(response: Response, onBytes: () => void): AsyncGenerator<string, void> {
  const events: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void events.push(event) })
  const decoder = new TextDecoder()
  let sizeBytes = 0
  for await (const bytes of response.body ?? []) {
    onBytes()
    sizeBytes += bytes.byteLength
    if (sizeBytes > MAX_STREAM_BYTES) throw new AppError('upstream_failed', 'The agent’s reply is too long')
    parser.feed(decoder.decode(bytes, { stream: true }))
    for (const event of events.splice(0)) {
      if (event.data === '[DONE]') return
      const delta = toDelta(event)
      if (delta) yield delta
    }
  }
  throw new BrokenConnection('The agent’s reply was cut off', true)
}

/** @throws AppError for an error event, whichever of its two forms it has. */
function toDelta(event: EventSourceMessage): string {
  const data = parseJson(event.data)
  const problem = Problem.safeParse(data)
  if (problem.success) throw toProblemError(problem.data.error, 200)
  if (event.event === 'error') throw new AppError('upstream_failed', 'The agent failed')
  const chunk = Chunk.safeParse(data)
  if (!chunk.success) throw new AppError('upstream_failed', 'The agent answered something that is not a reply')
  return chunk.data.choices[0]?.delta?.content ?? ''
}
