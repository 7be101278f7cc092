import { createParser } from 'eventsource-parser'
import { z } from 'zod'
import { AppError, type ErrorKind, errorMessage } from '../../core/errors.ts'
import { redact } from '../../core/log.ts'
import type { TokenPrice } from '../../core/money.ts'
import { isUnsent } from '../egress/unsent.ts'

/** A chat-completions request in the OpenAI form; what we do not know passes through untouched. */
export type CompletionBody = Readonly<Record<string, unknown>> & { model: string }

/** A request and its JSON text, which is the caller's own wherever nothing had to be changed. */
export type CompletionRequest = { body: CompletionBody; json: string }

/**
 * What a call used, as the provider reports it. `cachedInputTokens` are a part of `inputTokens`; `costUsd` is what it says
 * the call cost, null when it does not say.
 */
export type TokenUsage = {
  inputTokens: number
  cachedInputTokens: number
  outputTokens: number
  costUsd: number | null
}

/**
 * A whole answer: `json` is the provider's own text, the rest is what we need to know of it. `content` is the text of the
 * first choice, `said` everything in all of them that costs tokens: text, thoughts, refusals and tool calls.
 */
export type Completion = {
  json: string
  id: string
  model: string
  content: string
  said: string
  usage: TokenUsage | null
}

/**
 * One event of a streamed answer: `json` to pass on, what it says that costs tokens, and the usage when it carries it.
 * `isAnswer` is true from the first one that says something: text, thoughts, a tool call, a refusal or a reason to end.
 */
export type CompletionChunk = { json: string; said: string; isAnswer: boolean; usage: TokenUsage | null }

/** Vectors for texts: `json` is the provider's own answer. */
export type Embedding = { json: string; model: string; usage: TokenUsage | null }

export type ListedProviderModel = {
  id: string
  name: string | null
  contextLength: number | null
  description: string | null
  /** What it can do, in the aggregator's words: `tools`, `vision`, `reasoning`. */
  tags: readonly string[]
  price: TokenPrice | null
}

/**
 * Why a provider gave no answer. `caller`: the request itself is at fault, another provider would refuse it as well.
 * `limited`: it wants to be asked later. `credentials`: it does not accept ours. `missing`: it does not have this model.
 * `broken`: unreachable, cut off, empty or unreadable. `timeout`: too slow.
 */
export type ProviderFailure = 'caller' | 'limited' | 'credentials' | 'missing' | 'broken' | 'timeout'

/**
 * What providers throw. `retryAfterMs` is the wait a `limited` one asked for. `isSpent`: the request was taken, so it may
 * have cost something although no whole answer came; `usage` is what the provider reported of it.
 */
export class ProviderError extends AppError {
  readonly failure: ProviderFailure
  readonly retryAfterMs: number | null
  readonly isSpent: boolean
  readonly usage: TokenUsage | null
  constructor(
    failure: ProviderFailure,
    message: string,
    options: ErrorOptions & { retryAfterMs?: number | null; isSpent?: boolean; usage?: TokenUsage | null } = {},
  ) {
    const { retryAfterMs = null, isSpent = false, usage = null } = options
    const extra = retryAfterMs === null ? {} : { retryAfter: String(Math.ceil(retryAfterMs / 1000)) }
    super(KINDS[failure], message, extra, options)
    this.failure = failure
    this.retryAfterMs = retryAfterMs
    this.isSpent = isSpent
    this.usage = usage
  }
}

const KINDS: Readonly<Record<ProviderFailure, ErrorKind>> = {
  caller: 'invalid',
  limited: 'limited',
  credentials: 'upstream_failed',
  missing: 'upstream_failed',
  broken: 'upstream_failed',
  timeout: 'upstream_timeout',
}

/** Something that completes chats. Every method throws ProviderError, or the signal's reason when it aborts. */
export type AiProvider = {
  id: string
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>
  /** Settles with the first chunk under way; the iteration throws when the stream is cut off before its end. */
  stream(request: CompletionRequest, signal: AbortSignal): Promise<AsyncIterable<CompletionChunk>>
  embed(request: CompletionRequest, signal: AbortSignal): Promise<Embedding>
  listModels(signal: AbortSignal): Promise<ListedProviderModel[]>
}

export type ProviderOptions = {
  id: string
  baseUrl: string
  apiKey: string | undefined
  /** For a whole answer, and for the wait between two pieces of a streamed one. */
  timeoutMs: number
}

const MAX_ERROR_CHARACTERS = 500
const MAX_DESCRIPTION_CHARACTERS = 1000

const Count = z.number().int().min(0)
/** Two providers call cached input by another name than the rest. */
const Usage = z.object({
  prompt_tokens: Count,
  completion_tokens: Count.default(0),
  prompt_tokens_details: z.object({ cached_tokens: Count.nullish() }).nullish().catch(null),
  prompt_cache_hit_tokens: Count.nullish().catch(null),
  cached_tokens: Count.nullish().catch(null),
  cost: z.number().min(0).nullish().catch(null),
})
/** Everything by which a model can say something; one of them is enough for an answer. */
const Said = z.looseObject({ content: z.string().nullish() })
type Choice = { message: z.infer<typeof Said>; finish_reason?: string | null }
/** Checked by hand: an answer may be long, and little of it is looked at. */
const Choice = z.custom<Choice>(isChoice)
const Called = z.object({ name: z.string().nullish(), arguments: z.string().nullish() })
const ToolCalls = z.array(z.object({ function: Called }).catch({ function: {} }))
const Thoughts = z.array(z.object({ text: z.string().nullish(), summary: z.string().nullish() }).catch({}))
const CompletionResponse = z.object({
  id: z.string().default(''),
  model: z.string().default(''),
  choices: z.array(Choice).min(1),
  usage: Usage.nullish(),
})
const ChunkResponse = z.object({
  choices: z.array(z.object({ delta: Said.nullish(), finish_reason: z.string().nullish() })).default([]),
  usage: Usage.nullish(),
  error: z.unknown().optional(),
})
const EmbeddingResponse = z.object({
  model: z.string().default(''),
  data: z.array(z.object({ embedding: z.union([z.array(z.number()), z.string()]) })).min(1),
  usage: Usage.nullish(),
})
const ErrorResponse = z.object({ error: z.object({ message: z.string() }) })
const ModelsResponse = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      name: z.string().nullish(),
      description: z.string().nullish().catch(null),
      context_length: z.number().nullish(),
      architecture: z
        .object({ input_modalities: z.array(z.string()).nullish() })
        .nullish()
        .catch(null),
      supported_parameters: z.array(z.string()).nullish().catch(null),
      pricing: z
        .object({
          prompt: z.coerce.number(),
          completion: z.coerce.number(),
          input_cache_read: z.coerce.number().nullish().catch(null),
        })
        .nullish(),
    }),
  ),
})

/** A provider over HTTP: `POST {baseUrl}/chat/completions` and `GET {baseUrl}/models`. Never retries. */
export function createHttpProvider(options: ProviderOptions, deps: { fetch: typeof fetch }): AiProvider {
  const headers = {
    'content-type': 'application/json',
    ...(options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {}),
  }
  const post = (path: string, { json }: CompletionRequest, signal: AbortSignal) =>
    deps.fetch(`${options.baseUrl}${path}`, { method: 'POST', headers, body: json, signal })
  const postWhole = async <T>(
    path: string,
    request: CompletionRequest,
    signal: AbortSignal,
    read: (json: string) => T,
  ): Promise<T> => {
    const deadline = createDeadline(options.timeoutMs, signal)
    try {
      const response = await post(path, request, deadline.signal)
      if (!response.ok) throw await refusal(options.id, response)
      if (isPage(response)) throw await notAModel(options.id, response)
      return read(await response.text())
    } catch (error) {
      throw toProviderError(options.id, error, deadline)
    } finally {
      deadline.clear()
    }
  }

  return {
    id: options.id,
    complete: (request, signal) =>
      postWhole('/chat/completions', request, signal, (json) => toCompletion(options.id, json)),
    embed: (request, signal) => postWhole('/embeddings', request, signal, (json) => toEmbedding(options.id, json)),
    async stream(request, signal) {
      const deadline = createDeadline(options.timeoutMs, signal)
      try {
        const response = await post('/chat/completions', request, deadline.signal)
        if (!response.ok) throw await refusal(options.id, response)
        if (isPage(response)) throw await notAModel(options.id, response)
        if (!response.body || !response.headers.get('content-type')?.includes('text/event-stream')) {
          await response.body?.cancel()
          throw new ProviderError('broken', `AI provider ${options.id} did not answer with a stream`, { isSpent: true })
        }
        return readStream(options.id, response.body, deadline)
      } catch (error) {
        deadline.clear()
        throw toProviderError(options.id, error, deadline)
      }
    },
    async listModels(signal) {
      const deadline = createDeadline(options.timeoutMs, signal)
      try {
        const response = await deps.fetch(`${options.baseUrl}/models`, { headers, signal: deadline.signal })
        if (!response.ok) throw await refusal(options.id, response)
        return ModelsResponse.parse(await response.json()).data.map(toListedModel)
      } catch (error) {
        throw toProviderError(options.id, error, deadline)
      } finally {
        deadline.clear()
      }
    },
  }
}

/** @throws ProviderError `broken` for an answer that says nothing, unless its length was the reason. */
function toCompletion(provider: string, json: string): Completion {
  const { id, model, choices, usage } = readAnswer(provider, CompletionResponse, json)
  const isAnswer = choices.some(({ message, finish_reason: reason }) => says(message) || reason === 'length')
  const used = usage ? toUsage(usage) : null
  if (!isAnswer) {
    throw new ProviderError('broken', `AI provider ${provider} gave an empty answer`, { isSpent: true, usage: used })
  }
  // Nobody asks for it where the provider has counted.
  const said = used ? '' : choices.map(({ message }) => toSaid(message)).join('')
  return { json, id, model, content: choices[0]?.message.content ?? '', said, usage: used }
}

function toEmbedding(provider: string, json: string): Embedding {
  const { model, usage } = readAnswer(provider, EmbeddingResponse, json)
  return { json, model, usage: usage ? toUsage(usage) : null }
}

/** What an unreadable answer reports of its cost is read all the same. @throws ProviderError `broken`, SyntaxError. */
function readAnswer<T>(provider: string, schema: z.ZodType<T>, json: string): T {
  const answer: unknown = JSON.parse(json)
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  const reported = z.object({ usage: Usage }).safeParse(answer)
  throw new ProviderError('broken', unreadable(provider), {
    isSpent: true,
    usage: reported.success ? toUsage(reported.data.usage) : null,
    cause: parsed.error,
  })
}

function isChoice(choice: unknown): boolean {
  if (typeof choice !== 'object' || choice === null || !('message' in choice)) return false
  const { message } = choice
  if (typeof message !== 'object' || message === null) return false
  return !('content' in message) || message.content === null || typeof message.content === 'string'
}

/** Does it carry anything beside the speaker's role? */
function says(said: z.infer<typeof Said>): boolean {
  return Object.entries(said).some(
    ([key, value]) => key !== 'role' && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
}

/** What was said that costs tokens, as text. Thoughts come under one of three names, calls of tools under two. */
function toSaid(said: z.infer<typeof Said>): string {
  const thoughts = toText(said.reasoning) || toText(said.reasoning_content) || toThoughts(said.reasoning_details)
  return `${said.content ?? ''}${toText(said.refusal)}${thoughts}${toCalls(said)}`
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function toThoughts(details: unknown): string {
  if (details === undefined) return ''
  const { data = [] } = Thoughts.safeParse(details)
  return data.map(({ text, summary }) => text ?? summary ?? '').join('')
}

function toCalls({ tool_calls: calls, function_call: call }: z.infer<typeof Said>): string {
  if (calls === undefined && call === undefined) return ''
  const { data = [] } = ToolCalls.safeParse(calls ?? [{ function: call }])
  return data.map(({ function: called }) => `${called.name ?? ''}${called.arguments ?? ''}`).join('')
}

/** Passes events on as they come; the end without `[DONE]`, an error event or silence makes the iteration throw. */
async function* readStream(
  provider: string,
  body: ReadableStream<Uint8Array>,
  deadline: Deadline,
): AsyncGenerator<CompletionChunk> {
  const waiting: string[] = []
  const parser = createParser({ onEvent: (event) => waiting.push(event.data) })
  const decoder = new TextDecoder()
  try {
    for await (const bytes of body) {
      deadline.restart()
      parser.feed(decoder.decode(bytes, { stream: true }))
      for (const json of waiting.splice(0)) {
        if (json === '[DONE]') return
        yield toChunk(provider, json)
      }
    }
    throw new ProviderError('broken', `AI provider ${provider} cut the answer off`, { isSpent: true })
  } catch (error) {
    throw toProviderError(provider, error, deadline)
  } finally {
    deadline.clear()
  }
}

/** An error in place of the first word is a refusal; whoever reads the stream knows what came before it. */
function toChunk(provider: string, json: string): CompletionChunk {
  const { choices, usage, error } = readAnswer(provider, ChunkResponse, json)
  if (error !== undefined)
    throw new ProviderError('broken', `AI provider ${provider} failed in the middle of its answer`, {
      usage: usage ? toUsage(usage) : null,
    })
  return {
    json,
    said: choices.map(({ delta }) => (delta ? toSaid(delta) : '')).join(''),
    isAnswer: choices.some(({ delta, finish_reason: reason }) => (delta ? says(delta) : false) || reason === 'length'),
    usage: usage ? toUsage(usage) : null,
  }
}

function toUsage(usage: z.infer<typeof Usage>): TokenUsage {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? 0
  return {
    inputTokens: usage.prompt_tokens,
    cachedInputTokens: Math.min(cached, usage.prompt_tokens),
    outputTokens: usage.completion_tokens,
    costUsd: usage.cost ?? null,
  }
}

function toListedModel(model: z.infer<typeof ModelsResponse>['data'][number]): ListedProviderModel {
  return {
    id: model.id,
    name: model.name ?? null,
    contextLength: model.context_length ?? null,
    description: model.description?.slice(0, MAX_DESCRIPTION_CHARACTERS) ?? null,
    tags: toTags(model),
    price: toPrice(model.pricing),
  }
}

/** A price below zero is how the aggregator writes that it depends. */
function toPrice(pricing: z.infer<typeof ModelsResponse>['data'][number]['pricing']): ListedProviderModel['price'] {
  if (!pricing || pricing.prompt < 0 || pricing.completion < 0) return null
  const cached = pricing.input_cache_read
  return {
    inputUsdPerMillion: pricing.prompt * 1_000_000,
    outputUsdPerMillion: pricing.completion * 1_000_000,
    ...(typeof cached === 'number' && cached >= 0 && { cachedInputUsdPerMillion: cached * 1_000_000 }),
  }
}

function toTags(model: z.infer<typeof ModelsResponse>['data'][number]): string[] {
  const parameters = model.supported_parameters ?? []
  return [
    ...(parameters.includes('tools') ? ['tools'] : []),
    ...(parameters.includes('reasoning') ? ['reasoning'] : []),
    ...(model.architecture?.input_modalities?.includes('image') ? ['vision'] : []),
  ]
}

/** What a provider's refusal means for our caller: our credentials and its internals are not their business. */
async function refusal(provider: string, response: Response): Promise<ProviderError> {
  const { status } = response
  const failure = failureOf(status)
  if (failure === 'limited') {
    await response.body?.cancel()
    const retryAfterMs = toWaitMs(response.headers.get('retry-after'))
    return new ProviderError(failure, `AI provider ${provider} is busy`, { retryAfterMs })
  }
  if (failure !== 'caller') {
    await response.body?.cancel()
    return new ProviderError(failure, `AI provider ${provider} answered ${status}`)
  }
  const parsed = ErrorResponse.safeParse(await response.json().catch(() => null))
  const reason = parsed.success ? redact(parsed.data.error.message).slice(0, MAX_ERROR_CHARACTERS) : `status ${status}`
  return new ProviderError(failure, `AI provider ${provider} refused the request: ${reason}`)
}

function failureOf(status: number): ProviderFailure {
  if (status === 429) return 'limited'
  if (status === 401 || status === 402 || status === 403) return 'credentials'
  if (status === 404) return 'missing'
  const isPassing = status === 408 || status === 409 || status === 425
  return status >= 500 || status < 400 || isPassing ? 'broken' : 'caller'
}

/** RFC 9110, 10.2.3: seconds or a date. Null when neither. */
function toWaitMs(retryAfter: string | null): number | null {
  if (retryAfter === null || retryAfter.trim() === '') return null
  const seconds = Number(retryAfter)
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1000
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** What answers with a page for people is something on the way to the model. */
function isPage(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/html') ?? false
}

async function notAModel(provider: string, response: Response): Promise<ProviderError> {
  await response.body?.cancel()
  return new ProviderError('broken', unreadable(provider))
}

function unreadable(provider: string): string {
  return `AI provider ${provider} gave an answer that cannot be read`
}

function toProviderError(provider: string, error: unknown, deadline: Deadline): unknown {
  if (error instanceof AppError) return error
  if (deadline.isOver())
    return new ProviderError('timeout', `AI provider ${provider} did not answer in time`, {
      isSpent: true,
      cause: error,
    })
  if (deadline.signal.aborted) return error
  if (error instanceof z.ZodError || error instanceof SyntaxError) {
    return new ProviderError('broken', unreadable(provider), { isSpent: true, cause: error })
  }
  const isSpent = !isUnsent(error)
  return new ProviderError('broken', `AI provider ${provider} cannot be reached`, {
    isSpent,
    cause: errorMessage(error),
  })
}

type Deadline = { signal: AbortSignal; isOver(): boolean; restart(): void; clear(): void }

/** Aborts after `timeoutMs`, counted anew by `restart`, or together with the caller's `signal`. */
function createDeadline(timeoutMs: number, signal: AbortSignal): Deadline {
  const controller = new AbortController()
  let isOver = false
  let timer: Timer | undefined
  const abort = () => controller.abort(signal.reason)
  const clear = () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
  const restart = () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      isOver = true
      controller.abort()
    }, timeoutMs)
  }
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  restart()
  return { signal: controller.signal, isOver: () => isOver, restart, clear }
}
