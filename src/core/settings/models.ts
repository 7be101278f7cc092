import { z } from 'zod'
import { flag, url } from './forms.ts'

/** Model providers. */
export const MODELS = {
  AI_PROVIDER: z
    .enum(['openrouter', 'openai', 'anthropic', 'gemini', 'groq'])
    .default('openrouter')
    .describe('Default provider of new agents and of models that the platform selects'),
  OPENROUTER_API_KEY: z.string().min(1).optional().describe('API key of OpenRouter'),
  OPENROUTER_BASE_URL: url.default('https://openrouter.ai/api/v1').describe('OpenAI-compatible API of OpenRouter'),
  OPENAI_API_KEY: z.string().min(1).optional().describe('API key of OpenAI'),
  OPENAI_BASE_URL: url.default('https://api.openai.com/v1').describe('API of OpenAI'),
  ANTHROPIC_API_KEY: z.string().min(1).optional().describe('API key of Anthropic'),
  ANTHROPIC_BASE_URL: url.default('https://api.anthropic.com/v1').describe('OpenAI-compatible API of Anthropic'),
  GEMINI_API_KEY: z.string().min(1).optional().describe('API key of Gemini'),
  GEMINI_BASE_URL: url
    .default('https://generativelanguage.googleapis.com/v1beta/openai')
    .describe('OpenAI-compatible API of Gemini'),
  GROQ_API_KEY: z.string().min(1).optional().describe('API key of Groq'),
  GROQ_BASE_URL: url.default('https://api.groq.com/openai/v1').describe('OpenAI-compatible API of Groq'),
  OLLAMA_BASE_URL: url.optional().meta({
    description: 'Address of an Ollama server',
    otherwise: 'in `home` mode `http://127.0.0.1:11434/v1` if it responds',
  }),
  AI_ECHO: flag(false).describe('`true` adds `local/echo`, an offline model for development that repeats its input'),
  AI_MODEL_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .positive()
    .default(30_000)
    .describe(
      'Timeout of an attempt in milliseconds: for a whole response, for the first token of a stream, or between two chunks',
    ),
  DEMO_DAILY_BUDGET_USD: z.coerce
    .number()
    .nonnegative()
    .default(5)
    .describe('Budget per day (UTC) of all visitors of `POST /api/demo/chat`'),
}
