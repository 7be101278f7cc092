import { type AiProvider, type CompletionBody, ProviderError, type TokenUsage } from './provider.ts'

/** An offline test model that repeats its input and says so in every answer. */
const ECHO_MODEL = 'local/echo'
export const ECHO_PROVIDER = 'local'
const CHARACTERS_PER_TOKEN = 4
const CHUNK_CHARACTERS = 24

/** Creates the provider for development without a key (`AI_ECHO`); answers have `provider: "local"`. */
export function createEchoProvider(deps: { newId: () => string; nowSeconds: () => number }): AiProvider {
  const head = (object: string) => ({
    id: deps.newId(),
    object,
    created: deps.nowSeconds(),
    model: ECHO_MODEL,
    provider: 'local',
  })
  return {
    id: ECHO_PROVIDER,
    dialects: ['chat'],
    async complete({ body }) {
      const content = reply(body)
      const usage = estimateUsage(body, content)
      const base = head('chat.completion')
      const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
      return {
        json: JSON.stringify({ ...base, choices, usage: toWire(usage) }),
        id: base.id,
        model: ECHO_MODEL,
        content,
        said: content,
        usage,
      }
    },
    async stream({ body }) {
      return streamReply(head('chat.completion.chunk'), body)
    },
    async embed() {
      throw new ProviderError('caller', 'The offline development model makes no embeddings')
    },
    async tryKey() {},
    async listModels() {
      return [
        {
          id: ECHO_MODEL,
          name: 'Echo (offline development model)',
          contextLength: null,
          description: 'Offline development model: repeats what it is told.',
          tags: [],
          price: { inputUsdPerMillion: 0, outputUsdPerMillion: 0 },
        },
      ]
    },
  }
}

async function* streamReply(head: Record<string, unknown>, body: CompletionBody) {
  const content = reply(body)
  for (let at = 0; at < content.length; at += CHUNK_CHARACTERS) {
    const text = content.slice(at, at + CHUNK_CHARACTERS)
    yield {
      event: null,
      json: JSON.stringify({
        ...head,
        choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }],
      }),
      said: text,
      isAnswer: true,
      isLast: false,
      usage: null,
    }
  }
  const usage = estimateUsage(body, content)
  const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }]
  const json = JSON.stringify({ ...head, choices, usage: toWire(usage) })
  yield { event: null, json, said: '', isAnswer: true, isLast: false, usage }
}

function reply(body: CompletionBody): string {
  const contents = userContents(body.messages)
  // OpenClaw appends its own notes as a list of parts; the user's text is the last plain string.
  const last = contents.findLast((content) => typeof content === 'string') ?? contents.at(-1)
  return `[offline echo] ${toText(last)}`
}

/** Returns the content of each user message: a string or OpenAI's list of parts. */
function userContents(messages: unknown): unknown[] {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message) => (message?.role === 'user' ? [message.content] : []))
}

function toText(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('') : ''
}

/** This model has no tokenizer, so four characters count as one token. */
function estimateUsage(body: CompletionBody, content: string): TokenUsage {
  return {
    inputTokens: Math.ceil(JSON.stringify(body.messages ?? '').length / CHARACTERS_PER_TOKEN),
    cachedInputTokens: 0,
    cacheCreationTokens: 0,
    cacheCreationHourTokens: 0,
    outputTokens: Math.ceil(content.length / CHARACTERS_PER_TOKEN),
    costUsd: null,
  }
}

function toWire({ inputTokens, outputTokens }: TokenUsage) {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens }
}
