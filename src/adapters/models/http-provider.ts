import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import { redact } from '../../core/log.ts'
import { readEvents } from '../egress/answers/read-events.ts'
import { readJson, readText } from '../egress/answers/read-text.ts'
import { TooMuch } from '../egress/body.ts'
import { isUnsent } from '../egress/unsent.ts'
import { chatWire, ReportedTokens, toEmbedding, toListedModels } from './answers.ts'
import { createDeadlines, type Deadline } from './deadlines.ts'
import { messagesWire } from './messages-wire.ts'
import {
  type AiProvider,
  type CompletionChunk,
  type CompletionRequest,
  type Dialect,
  type ProviderCall,
  ProviderError,
  type ProviderFailure,
} from './provider.ts'
import { responsesWire } from './responses-wire.ts'
import { dialectsOf, unreadable, type WireFormat } from './wire-format.ts'

type Limits = { maxBytes: number; maxValues: number }

type ProviderOptions = {
  id: string
  baseUrl: string
  apiKey: string | undefined
  /** The dialects of a custom provider. */
  dialects?: readonly Dialect[] | undefined
  /** Limit for a complete answer, and for the pause between two chunks of a stream. */
  timeoutMs: number
}

const MAX_ERROR_CHARACTERS = 500
const MAX_WAIT_MS = 24 * 60 * 60_000
const MEBIBYTE = 1024 * 1024
/** Fits an answer with log probabilities for each token. */
const COMPLETION: Limits = { maxBytes: 32 * MEBIBYTE, maxValues: 500_000 }
/** A batch of 2,000 embeddings holds about three million numbers. */
const EMBEDDING: Limits = { maxBytes: 64 * MEBIBYTE, maxValues: 5_000_000 }
const MODELS: Limits = { maxBytes: 8 * MEBIBYTE, maxValues: 300_000 }
/** Limits for a stream and for one event, which may contain an image. */
const STREAM = { maxBytes: 64 * MEBIBYTE, maxEventCharacters: 16 * MEBIBYTE }
/** Ends a stream that only sends keep-alive events. */
const MAX_STREAM_MS = 60 * 60_000
/** Counting is quick, and there is a local count for a provider that hangs. */
const MAX_COUNT_MS = 10_000
const COUNT: Limits = { maxBytes: MEBIBYTE, maxValues: 1000 }
const CountResponse = z.object({ input_tokens: ReportedTokens })
/** Statuses of servers without an endpoint. */
const NO_ENDPOINT = new Set([404, 405, 501])
const ErrorResponse = z.object({ error: z.object({ message: z.string() }) })

const WIRES: Readonly<Record<Dialect, WireFormat>> = {
  chat: chatWire,
  messages: messagesWire,
  responses: responsesWire,
}
/** Other versions name the stream's events differently. */
const ANTHROPIC_VERSION = '2023-06-01'

/** Creates a client for the completions, embeddings and model list below a base URL. Never retries. */
export function createHttpProvider(options: ProviderOptions, deps: { fetch: typeof fetch }): AiProvider {
  const headers = toHeaders(options)
  const messagesHeaders = toMessagesHeaders(options)
  const startDeadline = createDeadlines(options.timeoutMs)
  const startCountDeadline = createDeadlines(Math.min(options.timeoutMs, MAX_COUNT_MS))
  const post = (path: string, request: ProviderCall | CompletionRequest, signal: AbortSignal) =>
    deps.fetch(`${options.baseUrl}${path}`, {
      method: 'POST',
      headers: toRequestHeaders(request, headers, messagesHeaders),
      body: request.json,
      signal,
    })
  const postWhole = async <T>(
    path: string,
    request: ProviderCall | CompletionRequest,
    signal: AbortSignal,
    { maxBytes, maxValues }: Limits,
    read: (id: string, json: string) => T | Promise<T>,
  ): Promise<T> => {
    const deadline = startDeadline(signal)
    try {
      const response = await post(path, request, deadline.signal)
      if (!response.ok) throw await refusal(options.id, response)
      if (isPage(response)) throw await notAModel(options.id, response)
      return await read(options.id, await readText(response, maxBytes, maxValues))
    } catch (error) {
      throw toProviderError(options.id, error, deadline)
    } finally {
      deadline.clear()
    }
  }
  const get = <T>(path: string, signal: AbortSignal, read: (response: Response) => Promise<T>): Promise<T> =>
    untilDeadline(options.id, startDeadline(signal), async (within) => {
      const init = { headers: toListHeaders(options), signal: within }
      return read(await deps.fetch(`${options.baseUrl}${path}`, init))
    })

  return {
    id: options.id,
    dialects: options.dialects ?? dialectsOf(options.id),
    complete(request, signal) {
      const { path, toCompletion } = WIRES[request.dialect]
      return postWhole(path, request, signal, COMPLETION, toCompletion)
    },
    async countTokens(request, signal) {
      const { countPath: path } = WIRES[request.dialect]
      if (path === undefined) return null
      return untilDeadline(options.id, startCountDeadline(signal), async (within) =>
        readCount(options.id, await post(path, request, within)),
      )
    },
    embed: (request, signal) => postWhole('/embeddings', request, signal, EMBEDDING, toEmbedding),
    async stream(request, signal) {
      const deadline = startDeadline(signal)
      try {
        const wire = WIRES[request.dialect]
        const response = await post(wire.path, request, deadline.signal)
        if (!response.ok) throw await refusal(options.id, response)
        if (isPage(response)) throw await notAModel(options.id, response)
        return readStream(options.id, await requireStream(options.id, response), wire, deadline)
      } catch (error) {
        deadline.clear()
        throw toProviderError(options.id, error, deadline)
      }
    },
    listModels: (signal) =>
      get('/models', signal, async (response) => {
        if (!response.ok) throw await refusal(options.id, response)
        return toListedModels(await readText(response, MODELS.maxBytes, MODELS.maxValues))
      }),
    // OpenRouter lists models without a key and validates keys at a separate endpoint.
    tryKey: (signal) =>
      get(options.id === 'openrouter' ? '/key' : '/models', signal, async (response) => {
        if (!response.ok && response.status !== 404) throw await refusal(options.id, response)
        await response.body?.cancel()
      }),
  }
}

/** @throws ProviderError `timeout` when `ask` takes longer than the deadline. */
async function untilDeadline<T>(id: string, deadline: Deadline, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await ask(deadline.signal)
  } catch (error) {
    throw toProviderError(id, error, deadline)
  } finally {
    deadline.clear()
  }
}

/** @returns null when the server has no such endpoint. */
async function readCount(provider: string, response: Response): Promise<number | null> {
  if (NO_ENDPOINT.has(response.status)) {
    await response.body?.cancel()
    return null
  }
  if (!response.ok) throw await refusal(provider, response)
  return CountResponse.parse(JSON.parse(await readText(response, COUNT.maxBytes, COUNT.maxValues))).input_tokens
}

/** Anthropic accepts a bearer token for chat completions only; its model list takes the headers of Messages. */
function toListHeaders(options: ProviderOptions): Record<string, string> {
  const { id, dialects = dialectsOf(id) } = options
  const isMessagesOnly = dialects.every((dialect) => dialect === 'messages')
  return id === 'anthropic' || isMessagesOnly ? toMessagesHeaders(options) : toHeaders(options)
}

function toRequestHeaders(
  request: ProviderCall | CompletionRequest,
  headers: Record<string, string>,
  messagesHeaders: Record<string, string>,
): Record<string, string> {
  if (!('dialect' in request)) return headers
  const own = request.dialect === 'messages' ? messagesHeaders : headers
  return request.headers ? { ...own, ...request.headers } : own
}

function toHeaders({ apiKey }: ProviderOptions): Record<string, string> {
  return { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
}

/** Servers of Messages take the key in `x-api-key`, as Anthropic does, which takes a bearer for an OAuth token. */
function toMessagesHeaders(options: ProviderOptions): Record<string, string> {
  const { id, apiKey } = options
  const version = { 'anthropic-version': ANTHROPIC_VERSION }
  if (id === 'openrouter') return { ...toHeaders(options), ...version }
  return { 'content-type': 'application/json', ...version, ...(apiKey && { 'x-api-key': apiKey }) }
}

async function requireStream(provider: string, { headers, body }: Response): Promise<ReadableStream<Uint8Array>> {
  if (body && headers.get('content-type')?.includes('text/event-stream')) return body
  await body?.cancel()
  throw new ProviderError('broken', `AI provider ${provider} did not answer with a stream`, { isSpent: true })
}

/** Yields events as they arrive; throws when the stream ends before its last event, sends an error event or stalls. */
async function* readStream(
  provider: string,
  body: ReadableStream<Uint8Array>,
  wire: WireFormat,
  deadline: Deadline,
): AsyncGenerator<CompletionChunk> {
  const endsAt = performance.now() + MAX_STREAM_MS
  const onBytes = () => {
    if (performance.now() < endsAt) deadline.restart()
  }
  try {
    const read = wire.createStreamReader(provider)
    for await (const event of readEvents(body, { ...STREAM, onBytes })) {
      const chunk = read(event)
      if (chunk === null) return
      yield chunk
      if (chunk.isLast) return
    }
    throw new ProviderError('broken', `AI provider ${provider} cut the answer off`, { isSpent: true })
  } catch (error) {
    throw toProviderError(provider, error, deadline)
  } finally {
    deadline.clear()
  }
}

/**
 * Converts a rejection to an error for the caller and hides the platform's credentials and the provider's internals.
 */
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
  const parsed = ErrorResponse.safeParse(await readJson(response).catch(() => null))
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

/** Parses Retry-After (RFC 9110, section 10.2.3): seconds or a date. Returns null for anything else. */
function toWaitMs(retryAfter: string | null): number | null {
  if (retryAfter === null || retryAfter.trim() === '') return null
  const seconds = Number(retryAfter)
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1000
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), MAX_WAIT_MS)
}

/** An HTML response comes from a proxy or error page, not from the model. */
function isPage(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/html') ?? false
}

async function notAModel(provider: string, response: Response): Promise<ProviderError> {
  await response.body?.cancel()
  return new ProviderError('broken', unreadable(provider))
}

function toProviderError(provider: string, error: unknown, deadline: Deadline): unknown {
  if (error instanceof AppError) return error
  if (deadline.isOver())
    return new ProviderError('timeout', `AI provider ${provider} did not answer in time`, {
      isSpent: true,
      cause: error,
    })
  if (deadline.signal.aborted) return error
  if (error instanceof z.ZodError || error instanceof SyntaxError || error instanceof TooMuch) {
    return new ProviderError('broken', unreadable(provider), { isSpent: true, cause: error })
  }
  const isSpent = !isUnsent(error)
  return new ProviderError('broken', `AI provider ${provider} cannot be reached`, {
    isSpent,
    cause: errorMessage(error),
  })
}
