import { z } from 'zod'

/** A model that can be asked now, as `GET /api/models` lists it. Prices are US dollars per token; null: not known. */
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

/** `POST /api/ai/chat` (Spec 4.5). */
export const ChatRequest = z.object({
  messages: z
    .array(
      z.object({
        role: z.enum(['user', 'assistant', 'system'], 'role must be user, assistant or system'),
        content: z.string('content must be text'),
      }),
      'Messages array is required',
    )
    .min(1, 'Messages array is required'),
  model: z.string('model must be text').min(1, 'model must be text').max(200, 'model is too long').optional(),
  temperature: z
    .number('temperature must be a number')
    .min(0, 'temperature must be 0 to 2')
    .max(2, 'temperature must be 0 to 2')
    .optional(),
  top_p: z.number('top_p must be a number').min(0, 'top_p must be 0 to 1').max(1, 'top_p must be 0 to 1').optional(),
  max_tokens: z
    .number('max_tokens must be a number')
    .int('max_tokens must be whole')
    .positive('max_tokens must be positive')
    .optional(),
})
export type ChatRequest = z.infer<typeof ChatRequest>

/** `POST /v1/chat/completions`: the OpenAI form. Only what we use is checked, the rest goes to the provider untouched. */
export const CompletionRequest = z.looseObject({
  messages: z
    .array(z.looseObject({ role: z.string('role must be text') }), 'messages must be an array')
    .min(1, 'messages must not be empty'),
  model: z.string('model must be text').max(200, 'model is too long').optional(),
  stream: z.boolean('stream must be true or false').nullish(),
})
export type CompletionRequest = z.infer<typeof CompletionRequest>
