import { z } from 'zod'
import { KeyDays } from '../usage/schemas.ts'

/** A model of `GET /api/models`. Prices are US dollars per token, null when unknown. */
export const ListedModel = z.object({
  id: z.string(),
  name: z.string(),
  provider: z.string(),
  contextLength: z.number().nullable(),
  pricing: z.object({ prompt: z.number(), completion: z.number() }).nullable(),
})
export type ListedModel = z.infer<typeof ListedModel>

export const ModelList = z.object({ models: z.array(ListedModel), defaultModel: z.string().nullable() })
export type ModelList = z.infer<typeof ModelList>

const ModelName = z.string('model must be text').min(1, 'model must be text').max(200, 'model is too long')
const TaskType = z.string('taskType must be text').max(40, 'taskType is too long').optional()
const badFallbacks = 'fallbacks must be a list of at most 3 models'
/** Models to try when the named one fails; without them only the named model is tried. */
const Fallbacks = z
  .array(z.string(badFallbacks).min(1, badFallbacks).max(200, badFallbacks), badFallbacks)
  .max(3, badFallbacks)
  .optional()

/** `POST /api/ai/models/select`. */
export const SelectRequest = z.object({ taskType: TaskType })
export type SelectRequest = z.infer<typeof SelectRequest>

/** The specification allows numbers as strings. */
const Numeric = (name: string) =>
  z
    .union([z.number(), z.string().trim().min(1)], `${name} must be a number`)
    .transform(Number)
    .refine((value) => Number.isFinite(value), `${name} must be a number`)

const ESTIMATE = 'Model, inputTokens, and outputTokens are required'
const TokenCount = z.number(ESTIMATE).int('Token counts must be whole').min(0, 'Token counts must not be negative')
/** `POST /api/ai/estimate-cost`. */
export const EstimateRequest = z.object({
  model: z.string(ESTIMATE).min(1, ESTIMATE).max(200, 'model is too long'),
  inputTokens: TokenCount,
  outputTokens: TokenCount,
})
export type EstimateRequest = z.infer<typeof EstimateRequest>

/** `POST /api/ai/chat`. */
export const ChatRequest = z
  .object({
    messages: z
      .array(
        z.object({
          role: z.enum(['user', 'assistant', 'system'], 'role must be user, assistant or system'),
          content: z.string('content must be text'),
        }),
        'Messages array is required',
      )
      .min(1, 'Messages array is required'),
    model: ModelName.optional(),
    temperature: Numeric('temperature')
      .pipe(z.number().min(0, 'temperature must be 0 to 2').max(2, 'temperature must be 0 to 2'))
      .optional(),
    top_p: Numeric('top_p').pipe(z.number().min(0, 'top_p must be 0 to 1').max(1, 'top_p must be 0 to 1')).optional(),
    max_tokens: Numeric('max_tokens')
      .pipe(z.number().int('max_tokens must be whole').positive('max_tokens must be positive'))
      .optional(),
    taskType: TaskType,
    fallbacks: Fallbacks,
    stream: z.boolean('stream must be true or false').nullish(),
  })
  .meta({ examples: [{ messages: [{ role: 'user', content: 'Say hello' }], taskType: 'general' }] })
export type ChatRequest = z.infer<typeof ChatRequest>

/** Usage against a limit; `limit` and `remaining` are null without one. */
const Meter = z.object({ used: z.number(), limit: z.number().nullable(), remaining: z.number().nullable() })

/** `unpricedCalls` are missing from `costUsd`, which is null when no cost is known. */
const Used = z.object({
  calls: z.number(),
  tokens: z.number(),
  costUsd: z.number().nullable(),
  unpricedCalls: z.number().optional(),
  estimatedTokens: z.number(),
})

/**
 * `GET /api/me/usage`: the current month (UTC). `key` is null for callers without a key, `agent` for callers that are no agent.
 * For an agent `byModel` covers only its own calls. `estimatedTokens` are those that no provider reported.
 */
export const MyUsage = z.object({
  windowStart: z.string(),
  windowEnd: z.string(),
  plan: z.string(),
  tokens: Meter,
  key: z
    .object({
      id: z.string(),
      calls: z.number(),
      tokens: Meter,
      costUsd: Meter.extend({ used: z.number().nullable() }),
      unpricedCalls: z.number().optional(),
      requestsPerMinute: z.number().nullable(),
      models: z.array(z.string()).nullable(),
    })
    .nullable(),
  agent: Used.extend({ id: z.string() }).nullable(),
  byModel: z.array(Used.extend({ model: z.string() })),
})
export type MyUsage = z.infer<typeof MyUsage>

/** `GET /api/keys/:id/usage?days=30`: the current month (UTC) against the key's limits, and the usage of each day. */
export const KeyReport = z.object({
  windowStart: z.string(),
  windowEnd: z.string(),
  month: MyUsage.shape.key.unwrap(),
  ...KeyDays.shape,
})
export type KeyReport = z.infer<typeof KeyReport>

/** `POST /v1/embeddings`: the OpenAI form. */
export const EmbeddingRequest = z
  .looseObject({
    model: z.string('model is required').min(1, 'model is required').max(200, 'model is too long'),
    input: z.union(
      [z.string().min(1), z.array(z.union([z.string(), z.number(), z.array(z.number())])).min(1)],
      'input must be text or a list',
    ),
    fallbacks: Fallbacks,
    models: Fallbacks,
    taskType: TaskType,
  })
  .meta({ examples: [{ model: 'openai/text-embedding-3-small', input: ['Say hello'] }] })
export type EmbeddingRequest = z.infer<typeof EmbeddingRequest>

/** Checks only the role, because every call repeats the whole conversation; the provider checks the rest. */
function hasRole(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'role' in message && typeof message.role === 'string'
}

/** Numbers that limits depend on. Numeric strings are rejected because some providers accept them. */
const Count = (name: string) => z.number(`${name} must be a number`).nullish()

/** `POST /v1/chat/completions` in OpenAI's form. Unknown fields are forwarded to the provider unchanged. */
export const CompletionRequest = z
  .looseObject({
    messages: z
      .array(z.custom<{ role: string }>(hasRole, 'role must be text'), 'messages must be an array')
      .min(1, 'messages must not be empty'),
    model: z.string('model must be text').max(200, 'model is too long').optional(),
    stream: z.boolean('stream must be true or false').nullish(),
    n: Count('n'),
    max_tokens: Count('max_tokens'),
    max_completion_tokens: Count('max_completion_tokens'),
    fallbacks: Fallbacks,
    models: Fallbacks,
    taskType: TaskType,
  })
  .meta({ examples: [{ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Say hello' }], stream: false }] })
export type CompletionRequest = z.infer<typeof CompletionRequest>

/** Returns whether `CompletionRequest` accepts a body unchanged. False means only that the schema has to decide. */
export function isUsualCompletion(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false
  const asked: Partial<Record<keyof CompletionRequest, unknown>> = body
  const { messages, model, stream, fallbacks, models, taskType } = asked
  return (
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every(hasRole) &&
    (model === undefined || (typeof model === 'string' && model.length <= 200)) &&
    (stream === undefined || typeof stream === 'boolean') &&
    isNumberOrNone(asked.n) &&
    isNumberOrNone(asked.max_tokens) &&
    isNumberOrNone(asked.max_completion_tokens) &&
    fallbacks === undefined &&
    models === undefined &&
    taskType === undefined
  )
}

function isNumberOrNone(value: unknown): boolean {
  return value === undefined || Number.isFinite(value)
}

/** Provider health by id; one failing provider makes the status `degraded`. */
export const ProviderHealth = z.object({
  status: z.enum(['degraded', 'healthy']),
  providers: z.record(z.string(), z.boolean()),
})
export type ProviderHealth = z.infer<typeof ProviderHealth>
/**
 * Recent calls of a model at a provider, at most 256: the share that failed, and the milliseconds until the answer or the first
 * chunk of a stream. `state` is `resting` after failures, and `closed` while the provider demands a pause.
 */
const ModelHealth = z.object({
  provider: z.string(),
  model: z.string(),
  state: z.enum(['ready', 'resting', 'closed']),
  calls: z.number(),
  errorRate: z.number(),
  latencyMs: z.object({ p50: z.number().nullable(), p95: z.number().nullable() }),
})
export type ModelHealth = z.infer<typeof ModelHealth>

/** `GET /api/ai/health`. `models` are those with calls in the last `windowMinutes`; both are left out without one. */
export const AiHealth = ProviderHealth.extend({
  windowMinutes: z.number().optional(),
  models: z.array(ModelHealth).optional(),
  timestamp: z.string(),
})
export type AiHealth = z.infer<typeof AiHealth>

/** A model as the API lists it. Costs are US dollars per million tokens; unknown facts are null. */
export const AiModel = z.object({
  id: z.string(),
  name: z.string(),
  provider: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  inputCost: z.number().nullable(),
  outputCost: z.number().nullable(),
  contextWindow: z.number().nullable(),
  available: z.boolean(),
})
export type AiModel = z.infer<typeof AiModel>

const TimedModels = z.object({ models: z.array(AiModel), count: z.number(), timestamp: z.string() })
/** `GET /api/ai/models`: with the number of models by the name of each provider. */
export const AiModelList = TimedModels.catchall(z.number())
/** `GET /api/ai/models/:provider`. */
export const ProviderModelList = TimedModels.extend({ provider: z.string() })

/** `POST /api/ai/models/select`. */
export const SelectedModel = z.object({
  model: AiModel.pick({ id: true, provider: true }),
  taskType: z.string(),
  timestamp: z.string(),
})

/** `POST /api/ai/estimate-cost`, in `currency`. */
export const CostEstimate = z.object({
  model: z.string(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  estimatedCost: z.number(),
  currency: z.string(),
  timestamp: z.string(),
})

/** Usage of a call in OpenAI's form; `estimated` when no provider reported it. */
export const CallUsage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number(),
  estimated: z.boolean().optional(),
})
export type CallUsage = z.infer<typeof CallUsage>

/** `POST /api/ai/chat`. */
export const AiReply = z.object({
  id: z.string(),
  model: z.string(),
  provider: z.string(),
  message: z.object({ role: z.string(), content: z.string() }),
  usage: CallUsage,
  timestamp: z.string(),
})

/** `GET /v1/models/{id}`: the OpenAI form, with the provider that serves the model. */
export const OpenAiModel = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.number(),
  owned_by: z.string(),
  provider: z.string(),
})
export type OpenAiModel = z.infer<typeof OpenAiModel>

/** `GET /v1/models`. */
export const OpenAiModelList = z.object({ object: z.literal('list'), data: z.array(OpenAiModel) })
