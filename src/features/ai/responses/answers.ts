import type { CompletionChunk } from '../../../adapters/models/provider.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { JsonObject } from '../../../core/json/json-object.ts'
import { isJsonObject } from '../../../core/json/json-object.ts'
import type { Log } from '../../../core/log.ts'
import { toAppError } from '../../../http/errors.ts'
import type { AnswerContext } from '../dialects/dialect.ts'
import { createResponseStream, fromChatCompletion, toFailure } from '../dialects/responses/stream.ts'
import type { Completed, Served } from '../gateway/completions.ts'
import type { ResponseStore } from './store.ts'
import type { ResponseTurn } from './turn.ts'

type AnswerDeps = { clock: Clock; log: Log; responses: ResponseStore }
/** An event as it is sent: its name and the text of its JSON. */
type SentEvent = { event: string; json: string }

/** Returns the response as JSON, the provider's own text where nothing differs, and stores it where the caller wants that. */
export async function toResponseJson(deps: AnswerDeps, turn: ResponseTurn, completed: Completed): Promise<string> {
  if (!completed.isTranslated && !turn.isChanged) return completed.json
  const answer = readObject(completed.json)
  const response = completed.isTranslated
    ? fromChatCompletion(withUsage(answer, completed), toContext(deps, turn, completed))
    : withOwnFields(answer, turn, newId('resp'))
  return JSON.stringify(await keep(deps, turn, response))
}

/** Yields the events of a streamed response, and stores it before the last one. A failure becomes the last events. */
export async function* toResponseEvents(
  deps: AnswerDeps,
  turn: ResponseTurn,
  served: Served & { chunks: AsyncIterable<CompletionChunk> },
  signal: AbortSignal,
): AsyncGenerator<SentEvent> {
  const events = served.isTranslated ? translate(deps, turn, served, signal) : passOn(deps, turn, served, signal)
  for await (const { event, data } of events)
    yield { event, json: typeof data === 'string' ? data : JSON.stringify(data) }
}

type OpenEvent = { event: string; data: JsonObject | string }

async function* translate(
  deps: AnswerDeps,
  turn: ResponseTurn,
  served: Served & { chunks: AsyncIterable<CompletionChunk> },
  signal: AbortSignal,
): AsyncGenerator<OpenEvent> {
  const stream = createResponseStream(toContext(deps, turn, served))
  try {
    for await (const { json } of served.chunks) yield* stream.push(readObject(json))
  } catch (error) {
    if (signal.aborted) throw error
    yield* stream.fail(toAppError(error))
    return
  }
  for (const { event, data } of stream.end()) {
    yield { event, data: isEnd(event) ? await keepIn(deps, turn, data) : data }
  }
}

/** Events with the whole response, whose fields may have to be the caller's. */
const WITH_RESPONSE = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
])

async function* passOn(
  deps: AnswerDeps,
  turn: ResponseTurn,
  { chunks }: { chunks: AsyncIterable<CompletionChunk> },
  signal: AbortSignal,
): AsyncGenerator<OpenEvent> {
  const id = newId('resp')
  let count = 0
  let begun: string | null = null
  const rewrite = (json: string): JsonObject => {
    const data = readObject(json)
    return { ...data, response: withOwnFields(objectOf(data.response), turn, id) }
  }
  try {
    for await (const { event, json } of chunks) {
      const name = event ?? ''
      count += 1
      if (name === 'response.created') begun = json
      if (!turn.isChanged || !WITH_RESPONSE.has(name)) yield { event: name, data: json }
      else yield { event: name, data: isEnd(name) ? await keepIn(deps, turn, rewrite(json)) : rewrite(json) }
    }
  } catch (error) {
    if (signal.aborted) throw error
    const response =
      begun === null ? null : objectOf(turn.isChanged ? rewrite(begun).response : readObject(begun).response)
    yield* toFailure(response, count, toAppError(error))
  }
}

function isEnd(event: string): boolean {
  return event === 'response.completed' || event === 'response.incomplete'
}

async function keepIn(deps: AnswerDeps, turn: ResponseTurn, data: JsonObject): Promise<JsonObject> {
  return { ...data, response: await keep(deps, turn, objectOf(data.response)) }
}

/**
 * Stores a response. The response says so when it cannot be stored, instead of failing, because the call has been paid.
 */
async function keep({ responses, log }: AnswerDeps, turn: ResponseTurn, response: JsonObject): Promise<JsonObject> {
  if (!turn.kept) return response
  const { ancestors, ...kept } = turn.kept
  const output = Array.isArray(response.output) ? response.output : []
  try {
    const itemIds = output.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
    const row = { ...kept, id: String(response.id), response: JSON.stringify(response), itemIds }
    if (await responses.add(row, ancestors)) return response
  } catch (error) {
    log.warn({ error: errorMessage(error) }, 'a response was not stored')
  }
  return { ...response, store: false }
}

/** Replaces the provider's view of the conversation, which Stead keeps itself. */
function withOwnFields(response: JsonObject, { request, kept }: ResponseTurn, id: string): JsonObject {
  const { store, previous_response_id: previousId = null, instructions = null } = request
  return { ...response, ...(kept && { id }), store, previous_response_id: previousId, instructions }
}

function toContext({ clock }: AnswerDeps, { request, sent }: ResponseTurn, { model }: Served): AnswerContext {
  return {
    model: model.id,
    request,
    sent: sent.body,
    newId,
    nowSeconds: () => Math.floor(clock.now().getTime() / 1000),
  }
}

function withUsage(completion: JsonObject, { usage: { inputTokens, outputTokens } }: Completed): JsonObject {
  if (isJsonObject(completion.usage)) return completion
  return { ...completion, usage: { prompt_tokens: inputTokens, completion_tokens: outputTokens } }
}

function readObject(json: string): JsonObject {
  const value: unknown = JSON.parse(json)
  if (!isJsonObject(value))
    throw new AppError('upstream_failed', 'The provider answered with something else than an object')
  return value
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
