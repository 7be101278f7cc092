import { z } from 'zod'
import { flag, url } from './forms.ts'

/** The providers of models. */
export const MODELS = {
  AI_PROVIDER: z
    .enum(['openrouter', 'openai', 'anthropic', 'gemini', 'groq'])
    .default('openrouter')
    .describe("The provider that serves everyone's models"),
  OPENROUTER_API_KEY: z.string().min(1).optional().describe('Models of OpenRouter; unset: not asked'),
  OPENROUTER_BASE_URL: url
    .default('https://openrouter.ai/api/v1')
    .describe('Where OpenRouter is asked, in the OpenAI form'),
  OPENAI_API_KEY: z.string().min(1).optional().describe('Models of OpenAI; unset: not asked'),
  OPENAI_BASE_URL: url.default('https://api.openai.com/v1').describe('Where OpenAI is asked, in the OpenAI form'),
  ANTHROPIC_API_KEY: z.string().min(1).optional().describe('Models of Anthropic; unset: not asked'),
  ANTHROPIC_BASE_URL: url
    .default('https://api.anthropic.com/v1')
    .describe('Where Anthropic is asked, in the OpenAI form'),
  GEMINI_API_KEY: z.string().min(1).optional().describe('Models of Gemini; unset: not asked'),
  GEMINI_BASE_URL: url
    .default('https://generativelanguage.googleapis.com/v1beta/openai')
    .describe('Where Gemini is asked, in the OpenAI form'),
  GROQ_API_KEY: z.string().min(1).optional().describe('Models of Groq; unset: not asked'),
  GROQ_BASE_URL: url.default('https://api.groq.com/openai/v1').describe('Where Groq is asked, in the OpenAI form'),
  OLLAMA_BASE_URL: url
    .optional()
    .meta({ description: 'A local model server', otherwise: 'at home `http://127.0.0.1:11434/v1` when it answers' }),
  AI_ECHO: flag(false).describe(
    '`true` adds `local/echo`, an offline development model that repeats what it is told and says so',
  ),
  AI_MODEL_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .positive()
    .default(30_000)
    .describe('For one attempt: a whole answer, the first word of a streamed one, or the pause between two pieces'),
  DEMO_DAILY_BUDGET_USD: z.coerce
    .number()
    .nonnegative()
    .default(5)
    .describe('What all strangers together may cost in a day (UTC) at `POST /api/demo/chat`'),
}
