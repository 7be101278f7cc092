import type { Context } from 'hono'
import type { CompletionChunk } from '../../../adapters/models/provider.ts'
import type { AppError, ErrorKind } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { type MicroUsd, toUsd } from '../../../core/money.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { toAppError } from '../../../http/errors.ts'
import { eventStream } from '../../../http/streams/sse.ts'
import type { Completed, Served } from './complete.ts'
import type { CallUsage } from './schemas.ts'

/** Says in headers who served a call: the model, how many were asked, and the id under which the call is booked. */
export function tellServed(c: Pick<Context, 'header'>, { model, attempts, generationId }: Served): void {
  c.header('x-model', model.id)
  c.header('x-provider', model.provider.id)
  c.header('x-attempts', String(attempts))
  c.header('x-generation-id', generationId)
}

/** As `tellServed`, with the cost of the call in US dollars unless it is not known, and whether that is an estimate. */
export function tellCompleted(c: Pick<Context, 'header'>, completed: Completed): void {
  tellServed(c, completed)
  if (completed.costMicroUsd !== null) c.header('x-cost-usd', formatUsd(completed.costMicroUsd))
  if (completed.isEstimated) c.header('x-usage-estimated', 'true')
}

/** The usage of a call as our own answers tell it; one that no provider reported says so (decisions, 46). */
export function toUsage({ usage, isEstimated }: Completed): CallUsage {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    ...(isEstimated && { estimated: true }),
  }
}

/**
 * Answers with OpenAI's events, each naming the model. What fails after the
 * first event is an event as well.
 */
export function streamChunks<Env extends BaseEnv>(
  c: Context<Env>,
  log: Log,
  served: Served & { chunks: AsyncIterable<CompletionChunk> },
) {
  tellServed(c, served)
  return eventStream(c, log, async (stream) => {
    try {
      for await (const chunk of served.chunks) await stream.write(withModel(chunk, served.model.id))
      await stream.write('[DONE]')
    } catch (error) {
      if (stream.signal.aborted) return
      await stream.write(JSON.stringify(toOpenAiError(toAppError(error))))
    }
  })
}

const TYPES: Partial<Record<ErrorKind, string>> = {
  invalid: 'invalid_request_error',
  too_large: 'invalid_request_error',
  too_slow: 'invalid_request_error',
  not_found: 'invalid_request_error',
  unauthenticated: 'authentication_error',
  limited: 'rate_limit_error',
}

export function toOpenAiError(error: AppError) {
  return {
    error: {
      message: error.message,
      type: TYPES[error.kind] ?? 'api_error',
      code: error.extra.code ?? null,
      param: error.extra.param ?? null,
    },
  }
}

function withModel({ json }: CompletionChunk, model: string): string {
  if (json.includes('"model":')) return json
  return JSON.stringify({ ...JSON.parse(json), model })
}

function formatUsd(microUsd: MicroUsd): string {
  return toUsd(microUsd).toFixed(6)
}
