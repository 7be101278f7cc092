import type { EventSourceMessage } from 'eventsource-parser'
import { z } from 'zod'
import { EarlyEnd } from '../../core/agents/collect-turn.ts'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/lines.ts'
import { readEvents } from '../egress/answers/read-events.ts'
import { readText } from '../egress/answers/read-text.ts'
import {
  type AgentCall,
  BrokenConnection,
  createBounds,
  MAX_JSON_BYTES,
  Problem,
  parseJson,
  sendToAgent,
  toGatewayError,
  toProblemError,
  toStatusError,
} from './http.ts'

const MAX_STREAM_BYTES = 16 * 1024 * 1024
/** Longer than any model's reply; a stored reply is indexed word by word. */
const MAX_REPLY_CHARACTERS = 400_000
/** An agent may send a long reply in one event. */
const MAX_EVENT_CHARACTERS = 2 * 1024 * 1024

/** The built-in agent truncates earlier. */
const MAX_REPORTED_CHARACTERS = 5000
const MAX_NAME_CHARACTERS = 200
/** Tool calls recorded per reply; further ones are dropped. */
const MAX_TOOL_CALLS = 500
const MAX_DURATION_MS = 24 * 60 * 60_000
const MAX_TOKENS = 1_000_000_000

function limitedText(maxCharacters: number) {
  return z.string().transform((text) => text.slice(0, maxCharacters))
}

/** `idleMs` counts from any byte, so an agent may think longer while it sends keep-alives. */
type StreamTimeouts = { idleMs: number; totalMs: number }

/** A tool call of an agent; arguments and result are JSON or text, truncated. */
const AgentToolCall = z.object({
  name: limitedText(MAX_NAME_CHARACTERS),
  arguments: limitedText(MAX_REPORTED_CHARACTERS),
  result: limitedText(MAX_REPORTED_CHARACTERS),
  success: z.boolean(),
  durationMs: z.number().min(0).max(MAX_DURATION_MS).transform(Math.round),
})
export type AgentToolCall = z.infer<typeof AgentToolCall>

/**
 * An event of a turn. Only the built-in agent reports tool calls and, with `generation`, each billed model call.
 * `usage` is the agent's own total; `early_end` says that a limit ended the turn; `restart` is the `restarts`-th
 * resumption after a crash, whose events replace all earlier text and tool calls.
 */
export type AgentTurnEvent =
  | { type: 'text'; text: string }
  | ({ type: 'tool' } & AgentToolCall)
  | { type: 'generation'; id: string }
  | ({ type: 'early_end' } & EarlyEnd)
  | { type: 'restart'; restarts: number }
  | { type: 'usage'; model: string | null; inputTokens: number; outputTokens: number }

const Step = z.discriminatedUnion('type', [
  AgentToolCall.extend({ type: z.literal('tool') }),
  z.object({ type: z.literal('generation'), id: z.string().max(200) }),
  EarlyEnd.extend({ type: z.literal('early_end') }),
  z.object({ type: z.literal('restart'), restarts: z.number().int().min(1).max(100) }),
])
const Tokens = z.number().int().min(0).max(MAX_TOKENS)
const Usage = z.object({ prompt_tokens: Tokens, completion_tokens: Tokens })
const Chunk = z.object({
  model: limitedText(MAX_NAME_CHARACTERS).nullish(),
  choices: listOf(z.object({ delta: z.object({ content: z.string().nullish() }).nullish() })),
  usage: Usage.nullish().catch(undefined),
  stead: Step.optional().catch(undefined),
})

/** Streams a reply in OpenAI's format. @throws AppError when it breaks or reports a failure. */
export async function* streamReply(
  plainFetch: typeof fetch,
  timeouts: StreamTimeouts,
  call: AgentCall,
  signal: AbortSignal,
): AsyncGenerator<AgentTurnEvent, void> {
  const bounded = createBounds(timeouts.idleMs, timeouts.totalMs, signal)
  try {
    const response = await sendToAgent(plainFetch, call, bounded.signal)
    if (!response.ok) throw toStatusError(response.status, await readText(response, MAX_JSON_BYTES))
    if (!/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
      await response.body?.cancel()
      throw new AppError('upstream_failed', 'The agent answered something that is not a reply')
    }
    yield* readReply(response, bounded.restart)
  } catch (error) {
    throw toGatewayError(error, bounded.signal)
  } finally {
    // Also when the reader stops early, so that the agent does not continue unread.
    bounded.abort()
  }
}

async function* readReply(response: Response, onBytes: () => void): AsyncGenerator<AgentTurnEvent, void> {
  let [toolCalls, characters] = [0, 0]
  const limits = { maxBytes: MAX_STREAM_BYTES, maxEventCharacters: MAX_EVENT_CHARACTERS, onBytes }
  for await (const event of readEvents(response.body, limits)) {
    if (event.data === '[DONE]') return
    for (const reported of toAgentEvents(event)) {
      if (reported.type === 'tool' && ++toolCalls > MAX_TOOL_CALLS) continue
      if (reported.type === 'text') characters += reported.text.length
      if (characters > MAX_REPLY_CHARACTERS) throw new AppError('upstream_failed', 'The agent’s reply is too long')
      yield reported
    }
  }
  throw new BrokenConnection('The agent’s reply was cut off', true)
}

/** @throws AppError for an error event in either format. */
function toAgentEvents(event: EventSourceMessage): AgentTurnEvent[] {
  const data = parseJson(event.data)
  const problem = Problem.safeParse(data)
  if (problem.success) throw toProblemError(problem.data.error, 200)
  if (event.event === 'error') throw new AppError('upstream_failed', 'The agent failed')
  const chunk = Chunk.safeParse(data)
  if (!chunk.success) throw new AppError('upstream_failed', 'The agent answered something that is not a reply')
  const { choices, usage, stead, model } = chunk.data
  const text = choices[0]?.delta?.content
  return [
    ...(text ? [{ type: 'text' as const, text }] : []),
    ...(stead ? [stead] : []),
    ...(usage ? [toUsage(usage, model ?? null)] : []),
  ]
}

function toUsage({ prompt_tokens, completion_tokens }: z.infer<typeof Usage>, model: string | null): AgentTurnEvent {
  return { type: 'usage', model, inputTokens: prompt_tokens, outputTokens: completion_tokens }
}
