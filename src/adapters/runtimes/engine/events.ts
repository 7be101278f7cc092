import { z } from 'zod'
import { type Engine, LABELS } from './engine.ts'

/** A message of the engine's event stream; `attributes` hold the labels. */
export type EngineEvent = {
  type: string
  action: string
  actorId: string
  attributes: Readonly<Record<string, string>>
  at: Date
  /** `at` in nanoseconds, by the engine's clock. */
  atNano: number
}

const Message = z.object({
  Type: z.string(),
  Action: z.string(),
  Actor: z.object({ ID: z.string().default(''), Attributes: z.record(z.string(), z.string()).nullish() }),
  timeNano: z.number(),
})

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8000
const HEARTBEAT_MS = 5000
const NANO_PER_SECOND = 1_000_000_000

/**
 * Yields the events of this installation's objects of `type` until `signal` aborts, across reconnects, each of which
 * yields `connected` first. The engine repeats missed events from its memory of a few hundred, which a restart clears.
 * A connection whose engine does not respond is closed.
 */
export async function* followEvents(
  engine: Engine,
  options: { instance: string; type: 'container' | 'service'; signal: AbortSignal },
): AsyncGenerator<EngineEvent | 'connected'> {
  const filters = { type: [options.type], label: [`${LABELS.instance}=${options.instance}`] }
  let lastNano: number | null = null
  for (let pauseMs = FIRST_PAUSE_MS; !options.signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const connection = new AbortController()
    const end = () => connection.abort()
    options.signal.addEventListener('abort', end)
    const heartbeat = endWhenSilent(engine, connection)
    try {
      const sinceNano = lastNano
      const since = sinceNano === null ? {} : { since: sinceNano / NANO_PER_SECOND }
      const stream = await engine.stream(
        (docker, abortSignal) => docker.getEvents({ filters, ...since, abortSignal }),
        connection.signal,
      )
      yield 'connected'
      pauseMs = FIRST_PAUSE_MS
      for await (const line of readEventLines(stream)) {
        const event = toEvent(line)
        if (sinceNano !== null && event.atNano <= sinceNano) continue
        lastNano = Math.max(lastNano ?? 0, event.atNano)
        yield event
      }
    } catch {
      // The next connection yields `connected`, and the consumer checks all agents then.
    } finally {
      clearInterval(heartbeat)
      options.signal.removeEventListener('abort', end)
      connection.abort()
    }
    if (!options.signal.aborted) await pause(pauseMs, options.signal)
  }
}

function endWhenSilent(engine: Engine, connection: AbortController): Timer {
  return setInterval(async () => {
    if (!(await engine.isAnswering())) connection.abort()
  }, HEARTBEAT_MS).unref()
}

/** Yields the lines of a stream. */
export async function* readEventLines(stream: NodeJS.ReadableStream): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(Buffer.from(chunk), { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim()) yield line
  }
  if (rest.trim()) yield rest
}

function toEvent(line: string): EngineEvent {
  const { Type, Action, Actor, timeNano } = Message.parse(JSON.parse(line))
  return {
    type: Type,
    action: Action,
    actorId: Actor.ID,
    attributes: Actor.Attributes ?? {},
    at: new Date(timeNano / 1_000_000),
    atNano: timeNano,
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}
