import type { Attributes, Span, Tracer } from '@opentelemetry/api'
import type { AiProvider, ProviderRequest, TokenUsage } from '../models/provider.ts'
import type { OpenTurns } from './open-turns.ts'
import { CLIENT, endFailed, followToEnd, within } from './spans.ts'

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
  const begin = (operation: string, request: ProviderRequest) =>
    beginSpan({ tracer, turns }, provider.id, operation, request)
  return {
    ...provider,
    complete: (request, signal) =>
      within(begin('chat', request), async (span) => {
        const answer = await provider.complete(request, signal)
        span.setAttributes({ 'gen_ai.response.model': answer.model, 'gen_ai.response.id': answer.id })
        noteUsage(span, answer.usage)
        return answer
      }),
    embed: (request, signal) =>
      within(begin('embeddings', request), async (span) => {
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

function beginSpan({ tracer, turns }: Telling, provider: string, operation: string, { body }: ProviderRequest): Span {
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
