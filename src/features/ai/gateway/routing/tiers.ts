/** What a call is for; each names one primary model and two fallbacks, tried in this order (Interface 4.5). */
export const TIERS = {
  reasoning: {
    models: ['deepseek/deepseek-r1', 'meta-llama/llama-3.3-70b-instruct', 'moonshotai/kimi-k2.5'],
    temperature: 0.2,
  },
  coding: {
    models: ['qwen/qwen-2.5-coder-32b-instruct', 'deepseek/deepseek-r1', 'google/gemini-2.0-flash-001'],
    temperature: 0.2,
  },
  fast: {
    models: ['meta-llama/llama-3.3-70b-instruct', 'mistralai/mistral-7b-instruct', 'google/gemini-2.0-flash-001'],
    temperature: 0.2,
  },
  creative: {
    models: ['moonshotai/kimi-k2.5', 'deepseek/deepseek-r1', 'meta-llama/llama-3.3-70b-instruct'],
    temperature: 0.7,
  },
} as const satisfies Record<string, { models: readonly string[]; temperature: number }>

export type Tier = keyof typeof TIERS

/** Words that callers use for a kind of task, and the tier that serves it. */
const TASKS: Readonly<Record<string, Tier>> = {
  reasoning: 'reasoning',
  analysis: 'reasoning',
  coding: 'coding',
  fast: 'fast',
  creative: 'creative',
}

/** Null for `general` and for words that name no kind of task. */
export function findTier(taskType: string | undefined): Tier | null {
  return taskType !== undefined && Object.hasOwn(TASKS, taskType) ? (TASKS[taskType] ?? null) : null
}

/** What a provider is asked for when nobody names a model: one primary, then the fallback. */
export const PROVIDER_MODELS: Readonly<Record<string, readonly string[]>> = {
  openrouter: ['moonshotai/kimi-k2.5', 'openai/gpt-4o-mini'],
  openai: ['openai/gpt-4o', 'openai/gpt-4o-mini'],
  anthropic: ['anthropic/claude-sonnet-4.5', 'openai/gpt-4o'],
  gemini: ['google/gemini-2.0-flash-001', 'anthropic/claude-sonnet-4.5'],
  groq: ['groq/gemma2-9b-it', 'openai/gpt-4o-mini'],
}
