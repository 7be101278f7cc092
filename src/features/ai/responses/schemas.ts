import { z } from 'zod'

const MODEL = 'model must be text'
const FALLBACKS = 'fallbacks must be a list of at most 3 models'
const Names = z.array(z.string(FALLBACKS).min(1, FALLBACKS).max(200, FALLBACKS), FALLBACKS).max(3, FALLBACKS).optional()
const isInput = (input: unknown) => input === null || typeof input === 'string' || Array.isArray(input)

/**
 * `POST /v1/responses` in OpenAI's form. Only the fields that Stead itself uses are checked here; the provider or the
 * translation checks the rest.
 */
export const ResponsesRequest = z
  .looseObject({
    model: z.string(MODEL).max(200, 'model is too long').nullish(),
    input: z.custom<string | readonly unknown[] | null>(isInput, 'input must be text or a list').optional(),
    instructions: z.string('instructions must be text').nullish(),
    stream: z.boolean('stream must be true or false').nullish(),
    store: z.boolean('store must be true or false').nullish(),
    previous_response_id: z.string('previous_response_id must be text').nullish(),
    max_output_tokens: z.number('max_output_tokens must be a number').nullish(),
    fallbacks: Names,
    models: Names,
    taskType: z.string('taskType must be text').max(40, 'taskType is too long').optional(),
  })
  .meta({ examples: [{ model: 'openai/gpt-4o', input: 'Say hello', stream: false, store: false }] })
export type ResponsesRequest = z.infer<typeof ResponsesRequest>

/** A response of the Responses API. */
export const ModelResponse = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  status: z.string(),
  model: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
})

/** `DELETE /v1/responses/{id}`. */
export const DeletedResponse = z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) })

/** `POST /v1/responses/input_tokens`. */
export const InputTokens = z.object({ object: z.literal('response.input_tokens'), input_tokens: z.number() })
