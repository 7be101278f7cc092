import { z } from 'zod'

/** `GET /api/ai/health`. */
export const BackendAiHealthAnswer = z.object({
  timestamp: z.string(),
  status: z.enum(['degraded', 'healthy']),
  providers: z.record(z.string(), z.boolean()),
})

/** `GET /api/ai/models`: with the number of models by the name of each provider. */
export const BackendAiModelsAnswer = z
  .object({
    models: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        provider: z.string(),
        description: z.string(),
        tags: z.array(z.string()),
        inputCost: z.number().nullable(),
        outputCost: z.number().nullable(),
        contextWindow: z.number().nullable(),
        available: z.boolean(),
      }),
    ),
    count: z.number(),
    timestamp: z.string(),
  })
  .catchall(z.number())

/** `GET /api/ai/models/:provider`. */
export const BackendAiModelAnswer = z.object({
  provider: z.string(),
  models: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      provider: z.string(),
      description: z.string(),
      tags: z.array(z.string()),
      inputCost: z.number().nullable(),
      outputCost: z.number().nullable(),
      contextWindow: z.number().nullable(),
      available: z.boolean(),
    }),
  ),
  count: z.number(),
  timestamp: z.string(),
})

/** `POST /api/ai/models/select`. */
export const BackendAiModelsSelectAnswer = z.object({
  model: z.object({ id: z.string(), provider: z.string() }),
  taskType: z.string(),
  timestamp: z.string(),
})

/** `POST /api/ai/estimate-cost`. */
export const BackendAiEstimateCostAnswer = z.object({
  model: z.string(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  estimatedCost: z.number(),
  currency: z.string(),
  timestamp: z.string(),
})

/** `POST /api/ai/chat`. */
export const BackendAiChatAnswer = z.object({
  id: z.string(),
  model: z.string(),
  provider: z.string(),
  message: z.object({ role: z.string(), content: z.string() }),
  usage: z.object({
    estimated: z.boolean().optional(),
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    total_tokens: z.number(),
  }),
  timestamp: z.string(),
})

/** `GET /v1/models`. */
export const BackendModelsAnswer = z.object({
  object: z.string(),
  data: z.array(
    z.object({ id: z.string(), object: z.string(), created: z.number(), owned_by: z.string(), provider: z.string() }),
  ),
})
