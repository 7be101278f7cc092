import type { Context } from 'hono'
import { endWith } from '../../core/concurrency/race.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { requireQuota } from '../../core/require-quota.ts'
import type { BaseEnv, Principal } from '../env.ts'

/** Less than the idle timeout of 10 s. */
const HEARTBEAT_MS = 5000
/** Disconnects clients that read nothing for this long; heartbeats alone keep a connection open. */
const STALLED_SECONDS = 30
/** Clients reconnect afterwards; a client that vanished silently is dropped. */
const LIFETIME_MS = 3_600_000
/** Browsers open at most six connections per host. */
const MAX_LIVE_STREAMS = { user: 10, operator: 200 } as const

/**
 * `send` writes a named event with JSON data and an optional id, `sendText` one with a text, and `write` an unnamed one
 * with a text. All wait until the client has read, so slow clients use no memory.
 */
export type EventStream = {
  send(event: string, data: unknown, id?: number): Promise<void>
  sendText(event: string, data: string): Promise<void>
  write(data: string): Promise<void>
  signal: AbortSignal
}

/**
 * Streams server-sent events until `run` returns; `signal` aborts when the client disconnects. Sends comments as
 * heartbeats. Errors of `run` are logged, and the client gets a generic error event.
 */
export function eventStream<Env extends BaseEnv>(
  c: Context<Env>,
  log: Log,
  run: (stream: EventStream) => Promise<void>,
) {
  c.env.keepOpen?.(c.req.raw)
  return startStream(c, log, run)
}

/** Counts open live streams per principal; one instance per process. */
export type LiveStreams = { take(principal: Principal): () => void }

export function createLiveStreams(): LiveStreams {
  const open = new Map<string, number>()
  return {
    take(principal) {
      const holder = principal.kind === 'user' ? principal.user.id : ''
      const current = open.get(holder) ?? 0
      requireQuota({ current, limit: MAX_LIVE_STREAMS[principal.kind], message: 'Too many open streams' })
      open.set(holder, current + 1)
      return () => {
        const left = (open.get(holder) ?? 1) - 1
        if (left > 0) open.set(holder, left)
        else open.delete(holder)
      }
    },
  }
}

/**
 * `eventStream` without an end: `signal` also aborts at shutdown and after an hour, and stalled clients are
 * disconnected.
 * @throws AppError `limited` {current, limit} when `principal` has too many open.
 */
export function liveStream<Env extends BaseEnv>(
  c: Context<Env>,
  deps: { log: Log; liveStreams: LiveStreams },
  principal: Principal,
  run: (stream: EventStream) => Promise<void>,
) {
  const release = deps.liveStreams.take(principal)
  c.env.keepOpen?.(c.req.raw, STALLED_SECONDS)
  return startStream(c, deps.log, async (stream) => {
    const link = endWith(...[stream.signal, c.env.stopping].filter((signal) => signal !== undefined))
    const timer = setTimeout(() => link.ending.abort(), LIFETIME_MS)
    try {
      await run({ ...stream, signal: link.ending.signal })
    } finally {
      clearTimeout(timer)
      link.release()
      release()
    }
  })
}

function startStream<Env extends BaseEnv>(c: Context<Env>, log: Log, run: (stream: EventStream) => Promise<void>) {
  const client = new AbortController()
  const body = openBody(() => client.abort())
  const send = (event: string, data: unknown, id?: number) => body.write(toEvent(JSON.stringify(data), event, id))
  const heartbeat = setInterval(() => void body.write(': keep-alive\n\n'), HEARTBEAT_MS)
  const sendText = (event: string, data: string) => body.write(toEvent(data, event))
  run({ signal: client.signal, send, sendText, write: (data) => body.write(toEvent(data)) })
    .catch(async (error) => {
      if (client.signal.aborted) return
      log.error({ requestId: c.get('requestId'), path: c.req.path, error: errorMessage(error) }, 'stream failed')
      await send('error', { error: 'Internal error' })
    })
    .finally(() => {
      clearInterval(heartbeat)
      body.close()
    })
  c.header('content-type', 'text/event-stream')
  c.header('x-accel-buffering', 'no')
  return c.body(body.readable)
}

/** A response body whose `write` resolves when the client has read; after the client has left, nothing is written. */
function openBody(onLeave: () => void) {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let reading: PromiseWithResolvers<void> | null = null
  let isOver = false
  const noteRead = () => {
    reading?.resolve()
    reading = null
  }
  const readable = new ReadableStream<Uint8Array>({
    start(opened) {
      controller = opened
    },
    pull: noteRead,
    cancel() {
      isOver = true
      noteRead()
      onLeave()
    },
  })
  return {
    readable,
    write(text: string): Promise<void> {
      if (isOver) return Promise.resolve()
      // First, because the stream may ask for more while it takes this.
      reading ??= Promise.withResolvers()
      const { promise } = reading
      controller?.enqueue(encoder.encode(text))
      return promise
    },
    close() {
      if (!isOver) controller?.close()
      isOver = true
    },
  }
}

function toEvent(data: string, event?: string, id?: number): string {
  const lines = /[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).join('\ndata: ') : data
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${lines}\n${id === undefined ? '' : `id: ${id}\n`}\n`
}
