import type { Context } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import { errorMessage } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { BaseEnv } from './env.ts'

/** Below the 10 s after which a server closes a silent connection. */
const HEARTBEAT_MS = 5000

/** `send` writes a named event with JSON data, `write` an unnamed one with text as it is. */
export type EventStream = {
  send(event: string, data: unknown): Promise<void>
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
  c.header('x-accel-buffering', 'no')
  return streamSSE(c, async (sse) => {
    const client = new AbortController()
    sse.onAbort(() => client.abort())
    const heartbeat = setInterval(() => void sse.write(': keep-alive\n\n').catch(() => client.abort()), HEARTBEAT_MS)
    try {
      await run({
        signal: client.signal,
        send: (event, data) => sendJson(sse, event, data),
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
}

function sendJson(sse: SSEStreamingApi, event: string, data: unknown): Promise<void> {
  return sse.writeSSE({ event, data: JSON.stringify(data) })
}
