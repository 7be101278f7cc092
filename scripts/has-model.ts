/** For `scripts/run`: prints `true` when a model can be reached or `AI_ECHO` was decided, `false` when none would answer. */
const PROBE_TIMEOUT_MS = 300
const VENDORS = ['OPENROUTER', 'OPENAI', 'ANTHROPIC', 'GEMINI', 'GROQ']

const isDecided =
  process.env.AI_ECHO !== undefined ||
  VENDORS.some((vendor) => process.env[`${vendor}_API_KEY`] || process.env[`${vendor}_API_KEY_FILE`])

console.log(String(isDecided || (await doesOllamaAnswer())))

async function doesOllamaAnswer(): Promise<boolean> {
  const baseUrl = process.env.OLLAMA_BASE_URL || 'http://127.0.0.1:11434/v1'
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/models`, {
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    })
    return response.ok
  } catch {
    return false
  }
}

export {}
