/** The models of the public demo (Interface 2 and 4.6), in order of preference; the first available one is the default. */
export const DEMO_MODELS = [
  { id: 'xiaomi/mimo-v2-pro', name: 'MiMo-V2-Pro', provider: 'Xiaomi' },
  { id: 'anthropic/claude-sonnet-4.5', name: 'Claude Sonnet 4.5', provider: 'Anthropic' },
  { id: 'openai/gpt-4o', name: 'GPT-4o', provider: 'OpenAI' },
  { id: 'google/gemini-2.5-flash', name: 'Gemini 2.5 Flash', provider: 'Google' },
  { id: 'deepseek/deepseek-r1', name: 'DeepSeek R1', provider: 'DeepSeek' },
  { id: 'minimax/minimax-chat', name: 'MiniMax M2.7', provider: 'MiniMax' },
] as const
