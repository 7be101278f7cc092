import type { Context } from 'hono'
import type { z } from 'zod'
import type { Log } from '../../../core/log.ts'
import type { Responses } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { setCompletedHeaders, streamChunks, toUsage } from './answers.ts'
import { type CompleteDeps, type Completed, complete, completeStreaming } from './completions.ts'
import type { Caller } from './request-body.ts'
import { AiReply, type ChatRequest } from './schemas.ts'

export const chatAnswers: Responses = {
  responses: { 200: [AiReply, 'text/event-stream'] },
  errors: ['payment_required', 'not_found', 'limited', 'upstream_failed', 'upstream_timeout', 'unavailable'],
}

type ChatDeps = CompleteDeps & { log: Log; clock: { now(): Date } }

/** Answers `POST /api/ai/chat` of both APIs, whole or as a stream of OpenAI events. */
export async function answerChat<Env extends BaseEnv>(
  c: Context<Env>,
  deps: ChatDeps,
  caller: Caller,
  request: ChatRequest,
) {
  const asked = toAsked(caller, request, c.req.raw.signal)
  if (request.stream) return streamChunks(c, deps.log, await completeStreaming(deps, asked))
  const answer = await complete(deps, asked)
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
