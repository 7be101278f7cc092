import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import type { AgentChatRequest, AgentGateway } from '../gateways/gateway.ts'
import type { AgentEndpoint } from '../gateways/http.ts'
import type { AgentToolCall, AgentTurnEvent } from '../gateways/stream.ts'
import type { OpenTurns } from './open-turns.ts'
import { CLIENT, endFailed, followToEnd, INTERNAL, within } from './spans.ts'

/** `below` creates a child context; passed in because OpenTelemetry is loaded on demand. */
export type Nesting = { below: (span: Span) => Context; turns: OpenTurns }

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
      within(begin(endpoint, request), () => gateway.chat(endpoint, request, signal)),
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
