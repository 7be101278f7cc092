import type { Context } from 'hono'
import { errorMessage } from '../../../../core/errors.ts'
import { newId } from '../../../../core/ids.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import type { Log } from '../../../../core/log.ts'
import type { BaseEnv } from '../../../../http/env.ts'
import { toAppError } from '../../../../http/errors.ts'
import { eventStream } from '../../../../http/streams/sse.ts'
import type { AnswerContext, DialectTranslator } from '../../dialects/dialect.ts'
import { setCompletedHeaders, setServedHeaders, toUsage } from '../answers.ts'
import { type CachedDeps, completeOrRepeat, streamOrRepeat } from '../cached-completions.ts'
import type { Completed, Served, Streamed } from '../completions.ts'
import { type CompletionRequest, sizeOfCompletion } from '../request-body.ts'

export type DialectDeps = CachedDeps & { log: Log; clock: { now(): Date } }
export type DialectRequest = CompletionRequest & { translator: DialectTranslator }

/** Answers a request in its own dialect, whole or as a stream of events. */
export async function answerInDialect<Env extends BaseEnv>(
  c: Context<Env>,
  deps: DialectDeps,
  request: DialectRequest,
) {
  if (request.body.stream === true) {
    const served = await streamOrRepeat(deps, request)
    setServedHeaders(c, served)
    return eventStream(c, deps.log, async (stream) => {
      for await (const { event, json } of toDialectEvents(deps, request, served)) await stream.sendText(event, json)
    })
  }
  const answer = await completeOrRepeat(deps, request)
  setCompletedHeaders(c, answer)
  c.header('content-type', 'application/json')
  return c.body(toDialectJson(deps, request, answer))
}

/** Returns the JSON of a complete answer in the dialect of its request. */
export function toDialectJson(deps: Pick<DialectDeps, 'clock'>, request: DialectRequest, answer: Completed): string {
  if (!answer.isTranslated) return answer.json
  const completion: JsonObject = JSON.parse(answer.json)
  const counted = answer.isEstimated ? { ...completion, usage: toUsage(answer) } : completion
  return JSON.stringify(request.translator.fromChatCompletion(counted, toContext(deps, request, answer)))
}

/**
 * Yields the events of a streamed answer in the dialect of its request. A failure ends them with the dialect's error event,
 * and is logged when it is not the provider's.
 */
export async function* toDialectEvents(
  deps: Pick<DialectDeps, 'clock' | 'log' | 'tokens'>,
  request: DialectRequest,
  served: Streamed,
): AsyncGenerator<{ event: string; json: string }> {
  const inputTokens = served.isTranslated ? await countForStart(deps, request, served) : undefined
  const context = { ...toContext(deps, request, served), ...(inputTokens !== undefined && { inputTokens }) }
  const translating = request.translator.createStreamTranslator(context)
  try {
    for await (const { event, json } of served.chunks) {
      if (!served.isTranslated) yield { event: event ?? 'message', json }
      else yield* translating.push(JSON.parse(json)).map(toTextEvent)
    }
    if (served.isTranslated) yield* translating.end().map(toTextEvent)
  } catch (error) {
    const known = toAppError(error)
    if (known.kind === 'internal') deps.log.error({ error: errorMessage(error) }, 'stream failed')
    yield* translating.fail(known).map(toTextEvent)
  }
}

/** A count that takes longer, such as the first one after an idle time, is replaced by an estimate from the length. */
const MAX_COUNT_WAIT_MS = 1000

/** Returns the tokens with which the stream begins. Those of a repeated answer are counted only now. */
async function countForStart(
  { tokens }: Pick<DialectDeps, 'tokens'>,
  { translator, body, json }: DialectRequest,
  { prompt }: Streamed,
): Promise<number | undefined> {
  if (!translator.startsWithUsage) return undefined
  const late = Promise.withResolvers<null>()
  const timer = setTimeout(() => late.resolve(null), MAX_COUNT_WAIT_MS)
  try {
    const counted = await Promise.race([prompt ?? tokens.count({ request: json, said: '' }), late.promise])
    return counted?.input ?? sizeOfCompletion(body, json).inputTokens
  } finally {
    clearTimeout(timer)
  }
}

function toTextEvent({ event, data }: { event: string; data: JsonObject }) {
  return { event, json: JSON.stringify(data) }
}

function toContext(deps: Pick<DialectDeps, 'clock'>, { body }: DialectRequest, { model }: Served): AnswerContext {
  return {
    model: model.id,
    request: body,
    newId,
    nowSeconds: () => Math.floor(deps.clock.now().getTime() / 1000),
  }
}
