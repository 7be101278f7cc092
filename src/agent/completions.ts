import type { Context } from 'hono'
import { AppError } from '../core/errors.ts'
import { randomText } from '../core/ids.ts'
import { logAgentFailure, toErrorBody, toKnownError } from './errors.ts'
import { type AgentCompletionRequest, SessionKey, TurnId } from './schemas.ts'
import type { ModelEvent } from './state/turn-marks.ts'
import type { KeptTurns } from './turns/kept-turns.ts'
import { runLoggedTurn, type TurnDeps, type TurnResult } from './turns/turn.ts'

/** Keeps proxies from closing a silent connection, for example during a long tool call. */
const HEARTBEAT_MS = 5000

export type CompletionsDeps = TurnDeps & { keptTurns: KeptTurns }

/** Reports the events of a turn and resolves with its result. `signal` detaches the listener. */
type Listen = (onEvent: (event: ModelEvent) => void, signal: AbortSignal) => Promise<TurnResult>

/**
 * Answers one completion, whole or streamed, after the turn is on disk. With `x-turn-id` the turn runs once, however
 * often it is requested, and continues when callers leave; without it, the turn ends when the caller disconnects.
 */
export async function answerCompletion(
  deps: CompletionsDeps,
  c: Context<AgentEnv>,
  body: AgentCompletionRequest,
): Promise<Response> {
  c.env.keepOpen(c.req.raw)
  const request = { sessionKey: toSessionKey(c, body), messages: body.messages }
  const turnId = toTurnId(c)
  const kept = turnId === null ? null : await deps.keptTurns.beginOrJoin(turnId, request)
  const listen: Listen = kept?.follow ?? ((onEvent, signal) => runLoggedTurn(deps, { ...request, signal }, onEvent))
  const frame = toFrame(deps)
  const includeUsage = body.stream_options?.include_usage ?? false
  if (body.stream) return streamTurn(deps, c, listen, frame, { includeUsage, includeSteps: kept !== null })

  const { model, text, finishReason, usage } = await listen(() => undefined, c.req.raw.signal)
  const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: finishReason }
  return c.json({ ...frame, object: 'chat.completion', model, choices: [choice], usage: toUsage(usage) })
}

/**
 * Streams a turn that has an id, from its first event.
 * @throws AppError `not_found` TURN_NOT_FOUND for an unknown id, `conflict` TURN_INTERRUPTED for a turn that was cut
 * short.
 */
export async function joinTurn(deps: CompletionsDeps, c: Context<AgentEnv>, id: string): Promise<Response> {
  c.env.keepOpen(c.req.raw)
  const kept = await deps.keptTurns.find(id)
  if (!kept) throw new AppError('not_found', 'Turn not found', { code: 'TURN_NOT_FOUND' })
  return streamTurn(deps, c, kept.follow, toFrame(deps), { includeUsage: true, includeSteps: true })
}

/** `includeSteps` adds chunks without choices for tool calls and model calls. */
type Included = { includeUsage: boolean; includeSteps: boolean }
type Frame = { id: string; created: number }

function toFrame({ clock }: Pick<CompletionsDeps, 'clock'>): Frame {
  return { id: `chatcmpl-${randomText(22)}`, created: Math.floor(clock.now().getTime() / 1000) }
}

/** Sends the response headers with the first model event, so earlier failures still get an HTTP status. */
async function streamTurn(
  deps: CompletionsDeps,
  c: Context<AgentEnv>,
  listen: Listen,
  frame: Frame,
  { includeUsage, includeSteps }: Included,
): Promise<Response> {
  const output = createOutput()
  const signal = AbortSignal.any([c.req.raw.signal, output.signal])
  const begun = Promise.withResolvers<void>()
  let model = ''
  const chunk = (choices: unknown[], extra = {}) =>
    output.send({ ...frame, object: 'chat.completion.chunk', model, choices, ...extra })
  const delta = (content: Record<string, unknown>, finishReason: string | null = null) =>
    chunk([{ index: 0, delta: content, finish_reason: finishReason }])

  const turn = listen((event) => {
    if (event.type === 'text') delta({ content: event.text })
    else if (event.type !== 'answering') {
      if (includeSteps) chunk([], { stead: event })
    } else {
      const isFirst = model === ''
      model = event.model
      if (isFirst) delta({ role: 'assistant', content: '' })
      begun.resolve()
    }
  }, signal)
  const end = turn.then(
    (result) => {
      delta({}, result.finishReason)
      if (includeUsage) chunk([], { usage: toUsage(result.usage) })
      output.end('data: [DONE]\n\n')
    },
    (error: unknown) => {
      const known = toKnownError(error)
      if (model !== '' && !output.signal.aborted) logAgentFailure(deps.log, c.req.path, known)
      output.end(`data: ${JSON.stringify(toErrorBody(known))}\n\n`)
    },
  )
  await Promise.race([begun.promise, turn.then(() => end)])
  c.header('content-type', 'text/event-stream; charset=utf-8')
  c.header('cache-control', 'no-cache')
  c.header('x-accel-buffering', 'no')
  return c.body(output.body)
}

/** Creates a response body that is written while the turn runs; `signal` aborts when the reader disconnects. */
function createOutput() {
  const reader = new AbortController()
  const encoder = new TextEncoder()
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(
    undefined,
    new ByteLengthQueuingStrategy({ highWaterMark: Number.POSITIVE_INFINITY }),
    new ByteLengthQueuingStrategy({ highWaterMark: Number.POSITIVE_INFINITY }),
  )
  const writer = writable.getWriter()
  const leave = () => {
    clearInterval(heartbeat)
    reader.abort()
  }
  const write = (text: string) => void writer.write(encoder.encode(text)).catch(leave)
  const heartbeat = setInterval(() => write(': keep-alive\n\n'), HEARTBEAT_MS)
  writer.closed.catch(leave)
  return {
    body: readable,
    signal: reader.signal,
    send: (data: unknown) => write(`data: ${JSON.stringify(data)}\n\n`),
    end(text: string) {
      clearInterval(heartbeat)
      write(text)
      void writer.close().catch(leave)
    },
  }
}

function toSessionKey(c: Context, body: AgentCompletionRequest): string | null {
  const header = c.req.header('x-session-key') ?? c.req.header('x-openclaw-session-key')
  if (header === undefined) return body.user ?? null
  const parsed = SessionKey.safeParse(header)
  if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'The session key is not valid')
  return parsed.data
}

function toTurnId(c: Context): string | null {
  const header = c.req.header('x-turn-id')
  if (header === undefined) return null
  const parsed = TurnId.safeParse(header)
  if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'The turn id is not valid')
  return parsed.data
}

function toUsage(usage: TurnResult['usage']) {
  if (!usage) return null
  const { inputTokens, outputTokens } = usage
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens }
}

/** Bindings that the listener passes to the app with each request. */
export type AgentEnv = {
  Bindings: {
    keepOpen: (request: Request) => void
  }
}
