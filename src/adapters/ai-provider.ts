import { createParser } from 'eventsource-parser'
import { z } from 'zod'
import { AppError, errorMessage } from '../core/errors.ts'
import { redact } from '../core/log.ts'

/** A chat-completions request in the OpenAI form; what we do not know passes through untouched. */
export type CompletionBody = Readonly<Record<string, unknown>> & { model: string }

/** A request and its JSON text, which is the caller's own wherever nothing had to be changed. */
export type CompletionRequest = { body: CompletionBody; json: string }

export type TokenUsage = { inputTokens: number; outputTokens: number }

/** A whole answer: `json` is the provider's own text, the rest is what we need to know of it. */
export type Completion = { json: string; id: string; model: string; content: string; usage: TokenUsage | null }

/** One event of a streamed answer: `json` to pass on, the text it adds, and the usage when it carries it. */
export type CompletionChunk = { json: string; text: string; usage: TokenUsage | null }

export type ListedProviderModel = {
  id: string
  name: string | null
  contextLength: number | null
  price: { inputUsdPerMillion: number; outputUsdPerMillion: number } | null
}

/**
 * Something that completes chats. Every method throws AppError: `upstream_failed` (down, broken, cut off),
 * `upstream_timeout`, `limited` (the provider's own rate limit), `invalid` (it refuses the request as malformed).
 */
export type AiProvider = {
  id: string
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>
  /** Settles with the first chunk under way; the iteration throws when the stream is cut off before its end. */
  stream(request: CompletionRequest, signal: AbortSignal): Promise<AsyncIterable<CompletionChunk>>
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

const Usage = z.object({ prompt_tokens: z.number().int().min(0), completion_tokens: z.number().int().min(0) })
const CompletionResponse = z.object({
  id: z.string().default(''),
  model: z.string().default(''),
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
  usage: Usage.nullish(),
})
const ChunkResponse = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }).nullish() })).default([]),
  usage: Usage.nullish(),
  error: z.unknown().optional(),
})
const ErrorResponse = z.object({ error: z.object({ message: z.string() }) })
const ModelsResponse = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      name: z.string().nullish(),
      context_length: z.number().nullish(),
      pricing: z.object({ prompt: z.coerce.number(), completion: z.coerce.number() }).nullish(),
    }),
  ),
})

/** A provider over HTTP: `POST {baseUrl}/chat/completions` and `GET {baseUrl}/models`. Never retries. */
export function createHttpProvider(options: ProviderOptions, deps: { fetch: typeof fetch }): AiProvider {
  const headers = {
    'content-type': 'application/json',
    ...(options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {}),
  }
  const post = ({ json }: CompletionRequest, signal: AbortSignal) =>
    deps.fetch(`${options.baseUrl}/chat/completions`, { method: 'POST', headers, body: json, signal })

  return {
    id: options.id,
    async complete(request, signal) {
      const deadline = createDeadline(options.timeoutMs, signal)
      try {
        const response = await post(request, deadline.signal)
        if (!response.ok) throw await refusal(options.id, response)
        return toCompletion(options.id, await response.text())
      } catch (error) {
        throw toProviderError(options.id, error, deadline)
      } finally {
        deadline.clear()
      }
    },
    async stream(request, signal) {
      const deadline = createDeadline(options.timeoutMs, signal)
      try {
        const response = await post(request, deadline.signal)
        if (!response.ok) throw await refusal(options.id, response)
        if (!response.body || !response.headers.get('content-type')?.includes('text/event-stream')) {
          throw new AppError('upstream_failed', `AI provider ${options.id} did not answer with a stream`)
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

function toCompletion(provider: string, json: string): Completion {
  const { id, model, choices, usage } = CompletionResponse.parse(JSON.parse(json))
  const content = choices[0]?.message.content ?? ''
  if (json.length === 0) throw new AppError('upstream_failed', `AI provider ${provider} gave an empty answer`)
  return { json, id, model, content, usage: usage ? toUsage(usage) : null }
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
    throw new AppError('upstream_failed', `AI provider ${provider} cut the answer off`)
  } catch (error) {
    throw toProviderError(provider, error, deadline)
  } finally {
    deadline.clear()
  }
}

function toChunk(provider: string, json: string): CompletionChunk {
  const { choices, usage, error } = ChunkResponse.parse(JSON.parse(json))
  if (error !== undefined)
    throw new AppError('upstream_failed', `AI provider ${provider} failed in the middle of its answer`)
  return {
    json,
    text: choices.map((choice) => choice.delta?.content ?? '').join(''),
    usage: usage ? toUsage(usage) : null,
  }
}

function toUsage(usage: z.infer<typeof Usage>): TokenUsage {
  return { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens }
}

function toListedModel(model: z.infer<typeof ModelsResponse>['data'][number]): ListedProviderModel {
  const { pricing } = model
  return {
    id: model.id,
    name: model.name ?? null,
    contextLength: model.context_length ?? null,
    price: pricing
      ? { inputUsdPerMillion: pricing.prompt * 1_000_000, outputUsdPerMillion: pricing.completion * 1_000_000 }
      : null,
  }
}

/** What a provider's refusal means for our caller: our credentials and its internals are not their business. */
async function refusal(provider: string, response: Response): Promise<AppError> {
  if (response.status === 429) {
    const seconds = response.headers.get('retry-after')
    return new AppError('limited', `AI provider ${provider} is busy`, seconds ? { retryAfter: seconds } : {})
  }
  const isOurFault = response.status === 401 || response.status === 402 || response.status === 403
  if (response.status >= 500 || isOurFault || response.status < 400) {
    return new AppError('upstream_failed', `AI provider ${provider} answered ${response.status}`)
  }
  const parsed = ErrorResponse.safeParse(await response.json().catch(() => null))
  const reason = parsed.success
    ? redact(parsed.data.error.message).slice(0, MAX_ERROR_CHARACTERS)
    : `status ${response.status}`
  return new AppError('invalid', `AI provider ${provider} refused the request: ${reason}`)
}

function toProviderError(provider: string, error: unknown, deadline: Deadline): unknown {
  if (error instanceof AppError) return error
  if (deadline.isOver())
    return new AppError('upstream_timeout', `AI provider ${provider} did not answer in time`, {}, { cause: error })
  if (deadline.signal.aborted) return error
  if (error instanceof z.ZodError || error instanceof SyntaxError) {
    return new AppError(
      'upstream_failed',
      `AI provider ${provider} gave an answer that cannot be read`,
      {},
      { cause: error },
    )
  }
  return new AppError(
    'upstream_failed',
    `AI provider ${provider} cannot be reached`,
    {},
    { cause: errorMessage(error) },
  )
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
