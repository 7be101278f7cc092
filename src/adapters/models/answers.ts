import { z } from 'zod'
import { parseBoundedJson } from '../../core/json/bounded-json.ts'
import { isJsonObject } from '../../core/json/json-object.ts'
import { listOf } from '../../core/text/lines.ts'
import {
  type Completion,
  type CompletionChunk,
  type Embedding,
  type ListedProviderModel,
  ProviderError,
  type TokenUsage,
} from './provider.ts'
import { parseVectors } from './vectors.ts'
import { unreadable, type WireFormat } from './wire-format.ts'

const MAX_DESCRIPTION_CHARACTERS = 1000

/** Upper bounds for reported tokens and cost, so that sums stay exact integers. */
const MAX_TOKENS = 1_000_000_000
const MAX_COST_USD = 1_000_000
/** Upper bound for the price of one token. */
const MAX_TOKEN_USD = 1
const MAX_MODELS = 5000

/** A reported number of tokens. */
export const ReportedTokens = z.number().int().min(0).max(MAX_TOKENS)
/** A reported cost in US dollars; anything else counts as not reported. */
export const ReportedCost = z.number().min(0).max(MAX_COST_USD).nullish().catch(null)
/** Some providers use another field name for cached input. */
const Usage = z.object({
  prompt_tokens: ReportedTokens,
  completion_tokens: ReportedTokens.default(0),
  prompt_tokens_details: z
    .object({ cached_tokens: ReportedTokens.nullish(), cache_write_tokens: ReportedTokens.nullish().catch(null) })
    .nullish()
    .catch(null),
  prompt_cache_hit_tokens: ReportedTokens.nullish().catch(null),
  cached_tokens: ReportedTokens.nullish().catch(null),
  cost: ReportedCost,
})
/** Impossible usage is treated as not reported, and tokens are then counted locally. */
const Reported = Usage.nullish().catch(null)
const isSomething = (list: readonly unknown[]) => list.length > 0
/** Fields that carry output; one of them is enough for an answer. */
const Said = z.looseObject({ content: z.string().nullish() })
type Choice = { message: z.infer<typeof Said>; finish_reason?: string | null }
/** Validated without zod because an answer may be long and few fields are used. */
const Choice = z.custom<Choice>(isChoice)
type ChoiceDelta = { delta?: z.infer<typeof Said> | null; finish_reason?: string | null }
const Called = z.object({ name: z.string().nullish(), arguments: z.string().nullish() })
const ToolCalls = z.array(z.object({ function: Called }).catch({ function: {} }))
const Thoughts = z.array(z.object({ text: z.string().nullish(), summary: z.string().nullish() }).catch({}))
const CompletionResponse = z.object({
  id: z.string().default(''),
  model: z.string().default(''),
  choices: listOf(Choice).refine(isSomething),
  usage: Reported,
})
const ChunkResponse = z.object({
  choices: listOf(z.custom<ChoiceDelta>(isChoiceDelta)).default([]),
  usage: Reported,
  error: z.unknown().optional(),
})
const EmbeddingResponse = z.object({
  model: z.string().default(''),
  data: listOf(z.object({ embedding: z.custom<unknown>(isVector) })).refine(isSomething),
  usage: Reported,
})
const TokenUsd = z.coerce.number().max(MAX_TOKEN_USD)
/** Response of `GET /models`; providers omit any field except the id. */
const ModelsResponse = z.object({
  data: z
    .array(z.unknown())
    .transform((models) => models.slice(0, MAX_MODELS))
    .pipe(
      listOf(
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
              prompt: TokenUsd,
              completion: TokenUsd,
              input_cache_read: TokenUsd.nullish().catch(null),
              input_cache_write: TokenUsd.nullish().catch(null),
            })
            .nullish(),
        }),
      ),
    ),
})

/** @throws ProviderError `broken` for an answer without output, unless it reached its length limit. */
function toCompletion(provider: string, json: string): Completion {
  const answer: unknown = JSON.parse(json)
  const { id, model, choices, usage } = isUsualCompletion(answer)
    ? answer
    : readAnswer(provider, CompletionResponse, answer)
  const isAnswer = choices.some(({ message, finish_reason: reason }) => says(message) || reason === 'length')
  const used = usage ? toUsage(usage) : null
  if (!isAnswer) {
    throw new ProviderError('broken', `AI provider ${provider} gave an empty answer`, { isSpent: true, usage: used })
  }
  // Output text is needed only when the provider did not report usage.
  const said = used ? '' : choices.map(({ message }) => toSaid(message)).join('')
  const finishReason = toFinishReason(choices[0]?.finish_reason)
  return { json, id, model, content: choices[0]?.message.content ?? '', said, usage: used, finishReason }
}

/** @throws ProviderError `broken`, SyntaxError. */
export async function toEmbedding(provider: string, json: string): Promise<Embedding> {
  const { model, usage } = readAnswer(provider, EmbeddingResponse, await parseVectors(json))
  return { json, model, usage: usage ? toUsage(usage) : null }
}

/**
 * Reports the usage of an invalid answer too, because it may have cost money.
 * @throws ProviderError `broken`, SyntaxError.
 */
function readAnswer<T>(provider: string, schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  const reported = z.object({ usage: Usage }).safeParse(answer)
  throw new ProviderError('broken', unreadable(provider), {
    isSpent: true,
    usage: reported.success ? toUsage(reported.data.usage) : null,
    cause: parsed.error,
  })
}

/** Chat Completions as providers send them: unnamed events, then `[DONE]`. */
export const chatWire: WireFormat = {
  path: '/chat/completions',
  toCompletion,
  createStreamReader: (provider) => (event) => (event.data === '[DONE]' ? null : toChunk(provider, event.data)),
}

/** Accepts base64 text or numbers; checks only the first number. */
function isVector(embedding: unknown): boolean {
  return typeof embedding === 'string' || (Array.isArray(embedding) && typeof embedding[0] === 'number')
}

function isChoice(choice: unknown): boolean {
  if (typeof choice !== 'object' || choice === null || !('message' in choice)) return false
  return isSaid(choice.message)
}

/** Checked by hand, because a stream has thousands of deltas. */
function isChoiceDelta(choice: unknown): boolean {
  if (typeof choice !== 'object' || choice === null) return false
  const { delta, finish_reason: reason }: { delta?: unknown; finish_reason?: unknown } = choice
  if (delta !== undefined && delta !== null && !isSaid(delta)) return false
  return reason === undefined || reason === null || typeof reason === 'string'
}

/**
 * Accepts the usual responses of providers, by hand because zod takes several microseconds; the schema checks any
 * other.
 */
function isUsualCompletion(answer: unknown): answer is z.output<typeof CompletionResponse> {
  if (!isJsonObject(answer)) return false
  const { id, model, choices, usage } = answer
  if (typeof id !== 'string' || typeof model !== 'string' || !Array.isArray(choices) || choices.length === 0)
    return false
  return choices.every(isChoice) && isUsualUsage(usage)
}

/** As `isUsualCompletion`, for a chunk of a stream. */
function isUsualChunk(chunk: unknown): chunk is z.output<typeof ChunkResponse> {
  if (!isJsonObject(chunk) || 'error' in chunk) return false
  return Array.isArray(chunk.choices) && chunk.choices.every(isChoiceDelta) && isUsualUsage(chunk.usage)
}

function isUsualUsage(usage: unknown): usage is z.output<typeof Reported> {
  if (usage === undefined || usage === null) return true
  if (!isJsonObject(usage)) return false
  const { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details, cost } = usage
  if (!isCount(input) || !isCount(output)) return false
  if (!isCountOrNone(usage.prompt_cache_hit_tokens) || !isCountOrNone(usage.cached_tokens)) return false
  if (cost !== undefined && cost !== null && !(typeof cost === 'number' && cost >= 0 && cost <= MAX_COST_USD))
    return false
  if (details === undefined || details === null) return true
  return isJsonObject(details) && isCountOrNone(details.cached_tokens) && isCountOrNone(details.cache_write_tokens)
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_TOKENS
}

function isCountOrNone(value: unknown): boolean {
  return value === undefined || value === null || isCount(value)
}

function isSaid(said: unknown): boolean {
  if (typeof said !== 'object' || said === null) return false
  return !('content' in said) || said.content == null || typeof said.content === 'string'
}

/** Returns whether the message contains more than its role. */
function says(said: z.infer<typeof Said>): boolean {
  return Object.entries(said).some(
    ([key, value]) => key !== 'role' && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
}

/** Returns the billable output as text. Providers use three field names for reasoning and two for tool calls. */
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

/** Parses one stream event; an error event before any output counts as a rejection. */
function toChunk(provider: string, json: string): CompletionChunk {
  const chunk = parseBoundedJson(json)
  const { choices, usage, error } = isUsualChunk(chunk) ? chunk : readAnswer(provider, ChunkResponse, chunk)
  if (error !== undefined)
    throw new ProviderError('broken', `AI provider ${provider} failed in the middle of its answer`, {
      usage: usage ? toUsage(usage) : null,
    })
  return {
    event: null,
    json,
    said: choices.map(({ delta }) => (delta ? toSaid(delta) : '')).join(''),
    isAnswer: choices.some(({ delta, finish_reason: reason }) => (delta ? says(delta) : false) || reason === 'length'),
    isLast: false,
    usage: usage ? toUsage(usage) : null,
    finishReason: toFinishReason(choices[0]?.finish_reason),
  }
}

const MAX_FINISH_REASON = 64

/** Shortens an error message of a provider, because it is stored with every call. */
export function toFinishReason(reason: unknown): string | null {
  return typeof reason === 'string' ? reason.slice(0, MAX_FINISH_REASON) : null
}

function toUsage(usage: z.infer<typeof Usage>): TokenUsage {
  const details = usage.prompt_tokens_details
  const reported = details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? 0
  const cachedInputTokens = Math.min(reported, usage.prompt_tokens)
  return {
    inputTokens: usage.prompt_tokens,
    cachedInputTokens,
    cacheCreationTokens: Math.min(details?.cache_write_tokens ?? 0, usage.prompt_tokens - cachedInputTokens),
    cacheCreationHourTokens: 0,
    outputTokens: usage.completion_tokens,
    costUsd: usage.cost ?? null,
  }
}

/** Reads a list of models, with prices in US dollars per million tokens. @throws ZodError, SyntaxError. */
export function toListedModels(json: string): ListedProviderModel[] {
  return ModelsResponse.parse(JSON.parse(json)).data.map(toListedModel)
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

/** The aggregator marks variable prices with a negative number. */
function toPrice(pricing: z.infer<typeof ModelsResponse>['data'][number]['pricing']): ListedProviderModel['price'] {
  if (!pricing || pricing.prompt < 0 || pricing.completion < 0) return null
  const { input_cache_read: cached, input_cache_write: created } = pricing
  return {
    inputUsdPerMillion: pricing.prompt * 1_000_000,
    outputUsdPerMillion: pricing.completion * 1_000_000,
    ...(typeof cached === 'number' && cached >= 0 && { cachedInputUsdPerMillion: cached * 1_000_000 }),
    ...(typeof created === 'number' && created >= 0 && { cacheCreationUsdPerMillion: created * 1_000_000 }),
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
