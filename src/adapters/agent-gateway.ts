import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { z } from 'zod'
import { AppError } from '../core/errors.ts'

const MAX_JSON_BYTES = 1024 * 1024
const MAX_STREAM_BYTES = 16 * 1024 * 1024
/** What Bun, Node and the system say when nobody is there. */
const NOBODY_THERE = new Set(['ConnectionRefused', 'ECONNREFUSED', 'FailedToOpenSocket', 'ENOTFOUND', 'EHOSTUNREACH'])

/** How long to wait; `chatIdleMs` is for any byte, so an agent that says it is alive may think for longer. */
type Timeouts = { probeMs: number; changeMs: number; chatIdleMs: number; chatTotalMs: number }
const TIMEOUTS: Timeouts = { probeMs: 5000, changeMs: 30_000, chatIdleMs: 120_000, chatTotalMs: 660_000 }

/** Where an agent listens, without a trailing slash, and the token that owns it. */
export type AgentEndpoint = { baseUrl: string; gatewayToken: string }
export type AgentChatRequest = { sessionKey: string; message: string }
/** `timestamp` as the agent wrote it, null when it did not. */
export type AgentMessage = { role: string; content: string; timestamp: string | number | null }
export type AgentReadiness = { ready: boolean; failing: string[]; uptimeMs: number | null }

/**
 * Speaks to any agent over its port: the built-in one and OpenClaw. What goes wrong is an AppError: `unavailable` when
 * nobody listens, `upstream_timeout`, `limited` with the agent's own message, `upstream_failed` for the rest.
 */
export type AgentGateway = {
  /** False for everything but a live agent's answer: OpenClaw answers unknown paths with a page and 200. */
  isLive(endpoint: AgentEndpoint): Promise<boolean>
  /** @throws AppError when there is no such answer: an agent that says it is not ready is no error. */
  readiness(endpoint: AgentEndpoint): Promise<AgentReadiness>
  /** The version of the runtime, null when it does not say. */
  version(endpoint: AgentEndpoint): Promise<string | null>
  /** The whole reply. Aborts with the signal's reason. */
  chat(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal): Promise<string>
  /** The reply as it is written. Ends only after the agent said that it is complete; a break is `upstream_failed`. */
  streamChat(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal): AsyncIterable<string>
  /** The last messages of a session, oldest first; none for a session the agent does not know. */
  history(endpoint: AgentEndpoint, sessionKey: string, limit: number): Promise<AgentMessage[]>
  /** Ends every session and empties memory. Built-in agents only: OpenClaw has no such route. */
  resetMemory(endpoint: AgentEndpoint): Promise<void>
}

const Live = z.object({ ok: z.literal(true), status: z.literal('live') })
const Ready = z.object({
  ready: z.boolean(),
  failing: z.array(z.string()).default([]),
  uptimeMs: z.number().nullable().default(null),
})
const Started = z.object({ version: z.string().nullable().default(null) })
const Text = z.union([
  z.string(),
  z
    .array(z.object({ type: z.string(), text: z.string().optional() }))
    .transform((parts) => parts.map((part) => part.text ?? '').join('')),
])
const Chunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }).nullish() })),
})
const History = z.object({
  items: z.array(
    z.object({
      role: z.string(),
      content: Text.nullish().transform((text) => text ?? ''),
      timestamp: z.union([z.string(), z.number()]).nullable().default(null),
    }),
  ),
})
const Problem = z.object({
  error: z.union([
    z.string().transform((message) => ({ message, type: undefined })),
    z.object({ message: z.string(), type: z.string().nullish() }),
  ]),
})
const Changed = z.object({ ok: z.literal(true) })

export function createAgentGateway(deps: { fetch: typeof fetch }, timeouts = TIMEOUTS): AgentGateway {
  const ask = async <Schema extends z.ZodType>(
    schema: Schema,
    call: Call & { timeoutMs: number },
    statuses = [200],
  ) => {
    const bounded = createBounds(call.timeoutMs, call.timeoutMs)
    try {
      const response = await send(deps.fetch, call, bounded.signal)
      const text = await readText(response)
      if (!statuses.includes(response.status)) throw toStatusError(response.status, text)
      return parseAnswer(schema, text)
    } catch (error) {
      throw toGatewayError(error, bounded.signal)
    } finally {
      bounded.stop()
    }
  }

  const streamChat = (endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal) =>
    streamReply(deps.fetch, timeouts, toChatCall(endpoint, request), signal)

  return {
    streamChat,
    async isLive(endpoint) {
      try {
        await ask(Live, { endpoint, path: '/healthz', timeoutMs: timeouts.probeMs })
        return true
      } catch (error) {
        if (error instanceof AppError) return false
        throw error
      }
    },
    readiness: (endpoint) => ask(Ready, { endpoint, path: '/readyz', timeoutMs: timeouts.probeMs }, [200, 503]),
    version: async (endpoint) =>
      (await ask(Started, { endpoint, path: '/startupz', timeoutMs: timeouts.probeMs })).version,
    async chat(endpoint, request, signal) {
      let text = ''
      for await (const delta of streamChat(endpoint, request, signal)) text += delta
      return text
    },
    async history(endpoint, sessionKey, limit) {
      const path = `/sessions/${encodeURIComponent(sessionKey)}/history?limit=${limit}`
      const Found = z.union([History, Problem.transform(() => ({ items: [] }))])
      return (await ask(Found, { endpoint, path, timeoutMs: timeouts.changeMs }, [200, 404])).items
    },
    async resetMemory(endpoint) {
      await ask(Changed, { endpoint, path: '/memory', method: 'DELETE', timeoutMs: timeouts.changeMs })
    },
  }
}

type Call = {
  endpoint: AgentEndpoint
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

async function* streamReply(
  plainFetch: typeof fetch,
  timeouts: Timeouts,
  call: Call,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const bounded = createBounds(timeouts.chatIdleMs, timeouts.chatTotalMs, signal)
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

function toChatCall(endpoint: AgentEndpoint, request: AgentChatRequest): Call {
  return {
    endpoint,
    path: '/v1/chat/completions',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-session-key': request.sessionKey,
      'x-openclaw-session-key': request.sessionKey,
    },
    body: JSON.stringify({ model: 'default', stream: true, messages: [{ role: 'user', content: request.message }] }),
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
  throw new AppError('upstream_failed', 'The agent’s reply was cut off')
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

/** Never follows a redirect: an agent must not choose whom the platform talks to. */
function send(plainFetch: typeof fetch, call: Call, signal: AbortSignal): Promise<Response> {
  return plainFetch(`${call.endpoint.baseUrl}${call.path}`, {
    method: call.method ?? 'GET',
    headers: { ...call.headers, authorization: `Bearer ${call.endpoint.gatewayToken}` },
    redirect: 'manual',
    signal,
    ...(call.body !== undefined && { body: call.body }),
  })
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength
    if (sizeBytes > MAX_JSON_BYTES) throw new AppError('upstream_failed', 'The agent’s answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseAnswer<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> {
  const parsed = schema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new AppError('upstream_failed', 'The agent answered something unexpected', {}, { cause: parsed.error })
}

/** Undefined, which no schema here accepts, for what is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function toStatusError(status: number, text: string): AppError {
  const problem = Problem.safeParse(parseJson(text)).data?.error
  return toProblemError(problem ?? { message: `The agent answered with status ${status}`, type: undefined }, status)
}

/** Inside a stream only the type tells a limit or a timeout from other failures. */
function toProblemError(problem: { message: string; type?: string | null | undefined }, status: number): AppError {
  const { message, type } = problem
  if (status === 429 || type === 'rate_limit_error') return new AppError('limited', message)
  if (status === 401) return new AppError('upstream_failed', 'The agent refused its gateway token')
  if (status === 408 || status === 504 || type === 'upstream_timeout') return new AppError('upstream_timeout', message)
  return new AppError(status === 503 || type === 'unavailable' ? 'unavailable' : 'upstream_failed', message)
}

/** The caller's own abort comes out as it is; a timeout and a broken connection get their names. */
function toGatewayError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof AppError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (NOBODY_THERE.has(code)) return new AppError('unavailable', 'The agent is not reachable', {}, { cause: error })
  return new AppError('upstream_failed', 'The connection to the agent broke', {}, { cause: error })
}

/** Aborts after `totalMs`, after `idleMs` without `restart`, and with `outer`. */
function createBounds(idleMs: number, totalMs: number, outer?: AbortSignal) {
  const controller = new AbortController()
  const expire = () => controller.abort(new AppError('upstream_timeout', 'The agent did not answer in time'))
  const total = setTimeout(expire, totalMs)
  let idle = setTimeout(expire, idleMs)
  const stop = () => {
    clearTimeout(total)
    clearTimeout(idle)
  }
  return {
    signal: outer ? AbortSignal.any([outer, controller.signal]) : controller.signal,
    stop,
    restart() {
      clearTimeout(idle)
      idle = setTimeout(expire, idleMs)
    },
    abort() {
      stop()
      controller.abort()
    },
  }
}
