import { z } from 'zod'

/** `GET /api/demo/chat`. */
export const DemoChatAnswer = z.object({
  models: z.array(
    z.union([
      z.object({ id: z.string(), name: z.literal('MiMo-V2-Pro'), provider: z.literal('Xiaomi') }),
      z.object({ id: z.string(), name: z.string(), provider: z.literal('Anthropic') }),
      z.object({ id: z.string(), name: z.literal('GPT-4o'), provider: z.literal('OpenAI') }),
      z.object({ id: z.string(), name: z.string(), provider: z.literal('Google') }),
      z.object({ id: z.string(), name: z.string(), provider: z.literal('DeepSeek') }),
      z.object({ id: z.string(), name: z.string(), provider: z.literal('MiniMax') }),
    ]),
  ),
  mode: z.string(),
  message: z.string(),
})

/** `POST /api/demo/chat`. */
export const NewDemoChatAnswer = z.object({
  id: z.string(),
  model: z.string(),
  message: z.string(),
  usage: z.object({
    estimated: z.boolean().optional(),
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    total_tokens: z.number(),
  }),
  done: z.literal(true),
})
