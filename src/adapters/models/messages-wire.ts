import { z } from 'zod'
import { parseBoundedJson } from '../../core/json/bounded-json.ts'
import { listOf } from '../../core/text/lines.ts'
import { ReportedCost, ReportedTokens, toFinishReason } from './answers.ts'
import { type CompletionChunk, ProviderError, type TokenUsage, type ToolUses } from './provider.ts'
import { unreadable, type WireEvent, type WireFormat } from './wire-format.ts'

const Tokens = ReportedTokens.nullish().catch(null)
const CacheCreation = z.object({ ephemeral_1h_input_tokens: Tokens }).nullish().catch(null)
/** `input_tokens` leaves out the tokens that were read from the cache or written to it. */
const Usage = z.object({
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_read_input_tokens: Tokens,
  cache_creation_input_tokens: Tokens,
  cache_creation: CacheCreation,
  server_tool_use: z.object({ web_search_requests: Tokens }).nullish().catch(null),
  cost: ReportedCost,
})
type Usage = z.infer<typeof Usage>
const Text = z.string().nullish().catch(null)
const Block = z.object({ type: z.string(), text: Text, thinking: Text, name: Text, input: z.unknown().optional() })
type Block = z.infer<typeof Block>
const Message = z.object({
  id: z.string().default(''),
  model: z.string().default(''),
  content: listOf(Block),
  stop_reason: z.string().nullish(),
  usage: Usage.nullish().catch(null),
})
const Delta = z.object({ text: Text, thinking: Text, partial_json: Text, stop_reason: z.string().nullish() })
const StreamEvent = z.object({
  type: z.string(),
  message: z.object({ usage: Usage.nullish().catch(null) }).nullish(),
  content_block: Block.nullish(),
  delta: Delta.nullish(),
  usage: Usage.nullish().catch(null),
})

/** Anthropic's Messages as providers send them. */
export const messagesWire: WireFormat = {
  path: '/messages',
  countPath: '/messages/count_tokens',
  toCompletion(provider, json) {
    const answer: unknown = JSON.parse(json)
    const parsed = Message.safeParse(answer)
    if (!parsed.success) {
      const reported = z.object({ usage: Usage }).safeParse(answer)
      const usage = reported.success ? toUsage(reported.data.usage) : null
      throw new ProviderError('broken', unreadable(provider), { isSpent: true, usage, cause: parsed.error })
    }
    const { id, model, content, stop_reason: reason, usage } = parsed.data
    const used = usage ? toUsage(usage) : null
    if (content.length === 0 && !isEnd(reason, used)) {
      throw new ProviderError('broken', `AI provider ${provider} gave an empty answer`, { isSpent: true, usage: used })
    }
    const text = content.map((block) => (block.type === 'text' ? (block.text ?? '') : '')).join('')
    // Output text is needed only when the provider did not report usage.
    const said = used ? '' : content.map(toSaid).join('')
    return {
      json,
      id,
      model,
      content: text,
      said,
      usage: used,
      finishReason: toFinishReason(reason),
      toolUses: toToolUses(usage),
    }
  },
  createStreamReader: createReader,
}

/** Merges the usage of `message_start` and `message_delta`, whose numbers are totals. An error before output costs nothing. */
function createReader(provider: string): (event: WireEvent) => CompletionChunk {
  let known: Usage | null = null
  let hasOutput = false
  return ({ event, data }) => {
    const parsed = StreamEvent.safeParse(parseBoundedJson(data))
    if (!parsed.success) {
      const usage = known && toUsage(known)
      throw new ProviderError('broken', unreadable(provider), { isSpent: true, usage, cause: parsed.error })
    }
    const { type, message, content_block: block, delta, usage } = parsed.data
    if (type === 'error') {
      const message = `AI provider ${provider} failed in the middle of its answer`
      throw new ProviderError('broken', message, { usage: hasOutput && known ? toUsage(known) : null })
    }
    const reported = message?.usage ?? usage
    if (reported) known = merge(known, reported)
    const isFirstBlock = block != null && !hasOutput
    hasOutput ||= block != null
    const used = known && (isFirstBlock || usage != null) ? toUsage(known) : null
    const said = `${block ? toSaid(block) : ''}${delta?.text ?? ''}${delta?.thinking ?? ''}${delta?.partial_json ?? ''}`
    return {
      event: event ?? type,
      json: data,
      said,
      isAnswer: said !== '' || (block != null && block.type !== 'text') || isEnd(delta?.stop_reason, used),
      isLast: type === 'message_stop',
      usage: used,
      finishReason: toFinishReason(delta?.stop_reason),
      toolUses: toToolUses(known),
    }
  }
}

/** Returns whether an answer may end here without output: Claude ends a turn after tool results without a word. */
function isEnd(reason: string | null | undefined, usage: TokenUsage | null): boolean {
  return reason != null && (reason !== 'end_turn' || (usage?.outputTokens ?? 0) > 0)
}

/** Returns the billable output of a block. The input of a streamed tool call starts empty and arrives in deltas. */
function toSaid({ type, text, thinking, name, input }: Block): string {
  if (type === 'text' || type === 'thinking') return `${text ?? ''}${thinking ?? ''}`
  const json = JSON.stringify(input ?? '')
  return `${name ?? ''}${json === '{}' || json === '""' ? '' : json}`
}

function merge(before: Usage | null, next: Usage): Usage {
  return {
    input_tokens: next.input_tokens ?? before?.input_tokens,
    output_tokens: next.output_tokens ?? before?.output_tokens,
    cache_read_input_tokens: next.cache_read_input_tokens ?? before?.cache_read_input_tokens,
    cache_creation_input_tokens: next.cache_creation_input_tokens ?? before?.cache_creation_input_tokens,
    cache_creation: next.cache_creation ?? before?.cache_creation,
    server_tool_use: next.server_tool_use ?? before?.server_tool_use,
    cost: next.cost ?? before?.cost,
  }
}

function toToolUses(usage: Usage | null | undefined): ToolUses | undefined {
  const webSearches = usage?.server_tool_use?.web_search_requests
  return webSearches ? { webSearches, fileSearches: 0 } : undefined
}

function toUsage(usage: Usage): TokenUsage | null {
  if (usage.input_tokens == null) return null
  const cachedInputTokens = usage.cache_read_input_tokens ?? 0
  const created = usage.cache_creation_input_tokens ?? 0
  const cacheCreationHourTokens = Math.min(usage.cache_creation?.ephemeral_1h_input_tokens ?? 0, created)
  return {
    inputTokens: usage.input_tokens + cachedInputTokens + created,
    cachedInputTokens,
    cacheCreationTokens: created - cacheCreationHourTokens,
    cacheCreationHourTokens,
    outputTokens: usage.output_tokens ?? 0,
    costUsd: usage.cost ?? null,
  }
}
