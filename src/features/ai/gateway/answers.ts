import type { Context } from 'hono'
import type { z } from 'zod'
import type { CompletionChunk } from '../../../adapters/models/provider.ts'
import { AppError } from '../../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../../core/ids.ts'
import type { Log } from '../../../core/log.ts'
import { type MicroUsd, toUsd } from '../../../core/money.ts'
import type { Responses } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { toAppError } from '../../../http/errors.ts'
import { readBearer } from '../../../http/internal-key.ts'
import { eventStream } from '../../../http/streams/sse.ts'
import { toOpenAiError } from '../dialects/openai-error.ts'
import { type CachedDeps, completeOrRepeat, streamOrRepeat } from './cached-completions.ts'
import type { Completed, Served } from './completions.ts'
import type { Caller } from './request-body.ts'
import { AiReply, type CallUsage, type ChatRequest } from './schemas.ts'

/** Sets the headers that name the model and provider of a call, the number of attempts and the id of its usage record. */
export function setServedHeaders(c: Pick<Context, 'header'>, served: Served): void {
  const { model, attempts, generationId, dropped, cache } = served
  c.header('x-model', model.id)
  c.header('x-stead-model', model.id)
  c.header('x-provider', model.provider.id)
  c.header('x-attempts', String(attempts))
  c.header('x-generation-id', generationId)
  if (cache) c.header('x-stead-cache', cache)
  if (dropped.length > 0) c.header('x-stead-dropped', dropped.join(', '))
}

/** As `setServedHeaders`, with the cost in US dollars where it is known, and whether the usage is an estimate. */
export function setCompletedHeaders(c: Pick<Context, 'header'>, completed: Completed): void {
  setServedHeaders(c, completed)
  if (completed.costMicroUsd !== null) c.header('x-cost-usd', formatUsd(completed.costMicroUsd))
  if (completed.isEstimated) c.header('x-usage-estimated', 'true')
}

/** Converts the usage of a call to OpenAI's fields; `estimated` marks usage that no provider reported. */
export function toUsage({ usage, isEstimated }: Completed): CallUsage {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    ...(isEstimated && { estimated: true }),
  }
}

/** Streams OpenAI events, each naming the model. An error after the first event is sent as an event. */
export function streamChunks<Env extends BaseEnv>(
  c: Context<Env>,
  log: Log,
  served: Served & { chunks: AsyncIterable<CompletionChunk> },
) {
  setServedHeaders(c, served)
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

/** Returns the error to show. Agent runtimes disable a provider after one 402 or 403, so agents get 429 for both. */
export function toShownError(c: Context, error: Error): AppError {
  const known = toAppError(error)
  const token = readBearer(c.req.header('authorization')) ?? c.req.header('x-api-key')
  const isPlanProblem = known.kind === 'payment_required' || known.kind === 'forbidden'
  if (!isPlanProblem || !token?.startsWith(AGENT_TOKEN_PREFIX)) return known
  return new AppError('limited', known.message, known.extra)
}

function withModel({ json }: CompletionChunk, model: string): string {
  if (json.includes('"model":')) return json
  return JSON.stringify({ ...JSON.parse(json), model })
}

function formatUsd(microUsd: MicroUsd): string {
  return toUsd(microUsd).toFixed(6)
}

export const chatAnswers: Responses = {
  responses: { 200: [AiReply, 'text/event-stream'] },
  errors: ['payment_required', 'not_found', 'limited', 'upstream_failed', 'upstream_timeout', 'unavailable'],
}

/** Answers `POST /api/ai/chat` of both APIs, whole or as a stream of OpenAI events. */
export async function answerChat<Env extends BaseEnv>(
  c: Context<Env>,
  deps: CachedDeps & { log: Log; clock: { now(): Date } },
  caller: Caller,
  request: ChatRequest,
) {
  const asked = toAsked(caller, request, c.req.raw.signal)
  if (request.stream) return streamChunks(c, deps.log, await streamOrRepeat(deps, asked))
  const answer = await completeOrRepeat(deps, asked)
  setCompletedHeaders(c, answer)
  return c.json(toReply(answer, deps.clock.now()))
}

function toAsked(caller: Caller, { taskType, fallbacks, ...body }: ChatRequest, signal: AbortSignal) {
  const requested = { model: body.model, fallbacks, taskType }
  return { caller, requested, body, json: JSON.stringify(body), endpoint: '/api/ai/chat', signal }
}

function toReply(answer: Completed, now: Date): z.infer<typeof AiReply> {
  return {
    id: answer.id,
    model: answer.model.id,
    provider: answer.model.provider.id,
    message: { role: 'assistant', content: answer.content },
    usage: toUsage(answer),
    timestamp: now.toISOString(),
  }
}
