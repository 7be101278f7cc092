import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import type { AgentChatRequest, AgentGateway } from '../gateways/gateway.ts'
import type { AgentEndpoint } from '../gateways/http.ts'
import type { AgentToolCall, AgentTurnEvent } from '../gateways/stream.ts'
import type { AiProvider, ProviderCall, TokenUsage } from '../models/provider.ts'
import { CLIENT, endFailed, followToEnd, INTERNAL, type OpenTurns, withinSpan } from './spans.ts'

/** Provider names that differ from the conventions' `gen_ai.provider.name`. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = { gemini: 'gcp.gemini' }
/** Span attributes of numeric request parameters. */
const NUMBERS: Readonly<Record<string, string>> = {
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  max_tokens: 'gen_ai.request.max_tokens',
  max_completion_tokens: 'gen_ai.request.max_tokens',
  max_output_tokens: 'gen_ai.request.max_tokens',
}

/**
 * Wraps a provider with a span per call (OpenTelemetry GenAI conventions): model, usage and failure, without any
 * content.
 */
export function traceProvider(tracer: Tracer, turns: OpenTurns, provider: AiProvider): AiProvider {
  const begin = (operation: string, request: ProviderCall) =>
    beginSpan({ tracer, turns }, provider.id, operation, request)
  return {
    ...provider,
    complete: (request, signal) =>
      withinSpan(begin('chat', request), async (span) => {
        const answer = await provider.complete(request, signal)
        span.setAttributes({ 'gen_ai.response.model': answer.model, 'gen_ai.response.id': answer.id })
        noteUsage(span, answer.usage)
        return answer
      }),
    embed: (request, signal) =>
      withinSpan(begin('embeddings', request), async (span) => {
        const answer = await provider.embed(request, signal)
        span.setAttribute('gen_ai.response.model', answer.model)
        noteUsage(span, answer.usage)
        return answer
      }),
    async stream(request, signal) {
      const span = begin('chat', request)
      try {
        const chunks = await provider.stream(request, signal)
        return followToEnd(span, chunks, ({ usage }) => noteUsage(span, usage))
      } catch (error) {
        endFailed(span, error)
        throw error
      }
    },
  }
}

type Telling = { tracer: Tracer; turns: OpenTurns }

function beginSpan({ tracer, turns }: Telling, provider: string, operation: string, { body }: ProviderCall): Span {
  const numbers = Object.entries(NUMBERS).flatMap(([name, attribute]) =>
    typeof body[name] === 'number' ? [[attribute, body[name]] as const] : [],
  )
  const attributes: Attributes = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': PROVIDER_NAMES[provider] ?? provider,
    'gen_ai.request.model': body.model,
    ...Object.fromEntries(numbers),
  }
  return tracer.startSpan(`${operation} ${body.model}`, { kind: CLIENT, attributes }, turns.findContext())
}

function noteUsage(span: Span, usage: TokenUsage | null): void {
  if (usage === null) return
  span.setAttributes({
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheCreationTokens + usage.cacheCreationHourTokens,
  })
}

/** `below` creates a child context; passed in because OpenTelemetry is loaded on demand. */
type Nesting = { below: (span: Span) => Context; turns: OpenTurns }

/**
 * Wraps a gateway with spans `invoke_agent` per turn and `execute_tool` per tool call (OpenTelemetry GenAI
 * conventions), without any content. A turn resumed after a lost connection is recorded until the loss.
 */
export function traceGateway(tracer: Tracer, { below, turns }: Nesting, gateway: AgentGateway): AgentGateway {
  const begin = (endpoint: AgentEndpoint, request: AgentChatRequest) => {
    const turn = beginTurn(tracer, endpoint, request)
    turns.add(turn)
    return turn
  }
  return {
    ...gateway,
    chat: (endpoint, request, signal) =>
      withinSpan(begin(endpoint, request), () => gateway.chat(endpoint, request, signal)),
    streamChat: (endpoint, request, signal) =>
      followToEnd(begin(endpoint, request), gateway.streamChat(endpoint, request, signal), () => undefined),
    streamTurn(endpoint, request, signal) {
      const span = begin(endpoint, request)
      return followToEnd(span, gateway.streamTurn(endpoint, request, signal), (event) =>
        noteEvent(tracer, below, span, event),
      )
    },
  }
}

function beginTurn(tracer: Tracer, { agentId, kind }: AgentEndpoint, { sessionKey }: AgentChatRequest): Span {
  const attributes: Attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': kind,
    'gen_ai.conversation.id': sessionKey,
    ...(agentId !== undefined && { 'gen_ai.agent.id': agentId }),
  }
  return tracer.startSpan(['invoke_agent', agentId].filter(Boolean).join(' '), { kind: CLIENT, attributes })
}

function noteEvent(tracer: Tracer, below: Nesting['below'], span: Span, event: AgentTurnEvent): void {
  if (event.type === 'tool') recordTool(tracer, below(span), event)
  if (event.type !== 'usage') return
  span.setAttributes({
    'gen_ai.usage.input_tokens': event.inputTokens,
    'gen_ai.usage.output_tokens': event.outputTokens,
    ...(event.model !== null && { 'gen_ai.response.model': event.model }),
  })
}

/** Agents report a tool call with its duration after it ends. */
function recordTool(tracer: Tracer, context: Context, { name, durationMs, success }: AgentToolCall): void {
  const endTime = Date.now()
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name }
  const startTime = endTime - durationMs
  const span = tracer.startSpan(`execute_tool ${name}`, { kind: INTERNAL, attributes, startTime }, context)
  if (success) span.end(endTime)
  // The agent does not report the kind of failure.
  else endFailed(span, null, endTime)
}
