import type { Context } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
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
 * `send` writes a named event with JSON data and an optional id, `sendText` one with a text, and `write` an unnamed one with a
 * text. All wait until the client has read, so slow clients use no memory.
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
  c.header('x-accel-buffering', 'no')
  const response = streamSSE(c, async (sse) => {
    const client = new AbortController()
    sse.onAbort(() => client.abort())
    const heartbeat = setInterval(() => void sse.write(': keep-alive\n\n').catch(() => client.abort()), HEARTBEAT_MS)
    try {
      await run({
        signal: client.signal,
        send: (event, data, id) => sendJson(sse, event, data, id),
        sendText: (event, data) => sse.writeSSE({ event, data }),
        write: (data) => sse.writeSSE({ data }),
      })
    } catch (error) {
      if (client.signal.aborted) return
      log.error({ requestId: c.var.requestId, path: c.req.path, error: errorMessage(error) }, 'stream failed')
      await sendJson(sse, 'error', { error: 'Internal error' })
    } finally {
      clearInterval(heartbeat)
    }
  })
  // Hono would set `no-cache`, which allows storing private data.
  response.headers.set('cache-control', 'no-store')
  return response
}

function sendJson(sse: SSEStreamingApi, event: string, data: unknown, id?: number): Promise<void> {
  return sse.writeSSE({ event, data: JSON.stringify(data), ...(id !== undefined && { id: String(id) }) })
}
