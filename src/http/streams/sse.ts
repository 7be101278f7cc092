import type { Context } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import { endWith } from '../../core/concurrency/end-with.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { requireQuota } from '../../core/require-quota.ts'
import type { BaseEnv, Principal } from '../env.ts'

/** Below the 10 s after which a server closes a silent connection. */
const HEARTBEAT_MS = 5000
/** A client that takes nothing for so long is dropped: heartbeats alone would move it on. */
const STALLED_SECONDS = 30
/** Afterwards a client comes back and goes on where it was; one that is gone without a word is not kept for ever. */
const LIFETIME_MS = 3_600_000
/** Browsers open six connections to a host. */
const MAX_LIVE_STREAMS = { user: 10, operator: 200 } as const

/**
 * `send` writes a named event with JSON data, and an id when it has one; `write` an unnamed one with text as it is. Both
 * wait until the client has read: nothing piles up in memory for a slow one.
 */
export type EventStream = {
  send(event: string, data: unknown, id?: number): Promise<void>
  write(data: string): Promise<void>
  signal: AbortSignal
}

/**
 * Answers with server-sent events: `run` sends what it has and returns when it is done; `signal` aborts when the client
 * has gone. Silence is filled with comments. What `run` throws is logged, and the client is told only that it failed.
 */
export function eventStream<Env extends BaseEnv>(
  c: Context<Env>,
  log: Log,
  run: (stream: EventStream) => Promise<void>,
) {
  c.env.keepOpen?.(c.req.raw)
  return startStream(c, log, run)
}

/** Who has how many live streams open. One for the whole platform. */
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
 * `eventStream` for what goes on for ever: `signal` aborts as well when the server stops and after an hour, and a client
 * that stops reading is dropped.
 * @throws AppError `limited` {current, limit} when `principal` has too many of them open.
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
  // Hono lets a cache keep it and ask again; what streams here is somebody's own.
  response.headers.set('cache-control', 'no-store')
  return response
}

function sendJson(sse: SSEStreamingApi, event: string, data: unknown, id?: number): Promise<void> {
  return sse.writeSSE({ event, data: JSON.stringify(data), ...(id !== undefined && { id: String(id) }) })
}
