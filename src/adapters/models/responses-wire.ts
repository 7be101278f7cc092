import { z } from 'zod'
import { parseBoundedJson } from '../../core/json/bounded-json.ts'
import { listOf } from '../../core/text/lines.ts'
import { ReportedCost, ReportedTokens, toFinishReason } from './answers.ts'
import { type CompletionChunk, ProviderError, type TokenUsage, type ToolUses } from './provider.ts'
import { unreadable, type WireEvent, type WireFormat } from './wire-format.ts'

const Usage = z.object({
  input_tokens: ReportedTokens,
  input_tokens_details: z
    .object({ cached_tokens: ReportedTokens.nullish(), cache_write_tokens: ReportedTokens.nullish().catch(null) })
    .nullish()
    .catch(null),
  output_tokens: ReportedTokens.default(0),
  cost: ReportedCost,
})
const Reported = Usage.nullish().catch(null)
const Text = z.string().nullish().catch(null)
const Part = z.object({ type: Text, text: Text, refusal: Text })
const Parts = listOf(Part).nullish().catch(null)
const Action = z.object({ type: Text }).nullish().catch(null)
const Item = z.object({
  type: Text,
  name: Text,
  arguments: Text,
  input: Text,
  content: Parts,
  summary: Parts,
  action: Action,
})
type Item = z.infer<typeof Item>
const Response = z.object({
  id: z.string().default(''),
  model: z.string().default(''),
  status: z.string().default('completed'),
  output: listOf(Item),
  usage: Reported,
})
const StreamEvent = z.object({
  type: z.string(),
  delta: z.unknown().optional(),
  item: Item.nullish().catch(null),
  response: z.object({ usage: Reported }).nullish(),
})
const RESPONSE = 'response.'
const LAST_EVENTS = new Set(['response.completed', 'response.incomplete'])

/** OpenAI's Responses as providers send them. */
export const responsesWire: WireFormat = {
  path: '/responses',
  countPath: '/responses/input_tokens',
  toCompletion(provider, json) {
    const answer: unknown = JSON.parse(json)
    const parsed = Response.safeParse(answer)
    if (!parsed.success) {
      const reported = z.object({ usage: Usage }).safeParse(answer)
      const usage = reported.success ? toUsage(reported.data.usage) : null
      throw new ProviderError('broken', unreadable(provider), { isSpent: true, usage, cause: parsed.error })
    }
    const { id, model, status, output, usage } = parsed.data
    const used = usage ? toUsage(usage) : null
    if (status === 'failed') throw failed(provider, used)
    if (output.length === 0 && status !== 'incomplete') {
      throw new ProviderError('broken', `AI provider ${provider} gave an empty answer`, { isSpent: true, usage: used })
    }
    const content = output.flatMap((item) => (item.type === 'message' ? toTexts(item.content) : [])).join('')
    // Output text is needed only when the provider did not report usage.
    const said = used ? '' : output.map(toSaid).join('')
    return {
      json,
      id,
      model,
      content,
      said,
      usage: used,
      finishReason: toFinishReason(status),
      toolUses: countToolUses(output),
    }
  },
  createStreamReader(provider) {
    const done: Item[] = []
    return (event) => toChunk(provider, event, done)
  },
}

/** Adds finished items to `done`. */
function toChunk(provider: string, { event, data }: WireEvent, done: Item[]): CompletionChunk {
  const parsed = StreamEvent.safeParse(parseBoundedJson(data))
  if (!parsed.success) {
    throw new ProviderError('broken', unreadable(provider), { isSpent: true, cause: parsed.error })
  }
  const { type, delta, item, response } = parsed.data
  const usage = response?.usage ? toUsage(response.usage) : null
  if (type === 'error' || type === 'response.failed') throw failed(provider, usage)
  if (item && type === 'response.output_item.done') done.push(item)
  const name = type === 'response.output_item.added' ? (item?.name ?? '') : ''
  const said = type.endsWith('.delta') && typeof delta === 'string' ? delta : name
  return {
    event: event ?? type,
    json: data,
    said,
    isAnswer: said !== '' || type === 'response.output_item.done' || type === 'response.incomplete',
    isLast: LAST_EVENTS.has(type),
    usage,
    finishReason: LAST_EVENTS.has(type) ? type.slice(RESPONSE.length) : null,
    toolUses: countToolUses(done),
  }
}

function failed(provider: string, usage: TokenUsage | null): ProviderError {
  return new ProviderError('broken', `AI provider ${provider} failed in the middle of its answer`, { usage })
}

/** Only searches are charged, not the opening of their results. */
function countToolUses(items: readonly Item[]): ToolUses | undefined {
  const isSearch = ({ type, action }: Item) => type === 'web_search_call' && (action?.type ?? 'search') === 'search'
  const webSearches = items.filter(isSearch).length
  const fileSearches = items.filter(({ type }) => type === 'file_search_call').length
  return webSearches + fileSearches === 0 ? undefined : { webSearches, fileSearches }
}

function toSaid({ name, arguments: called, input, content, summary }: Item): string {
  return [name, called, input, ...toTexts(content), ...toTexts(summary)].join('')
}

function toTexts(parts: Item['content']): string[] {
  return (parts ?? []).map(({ text, refusal }) => text ?? refusal ?? '')
}

function toUsage({ input_tokens: inputTokens, input_tokens_details: details, ...usage }: z.infer<typeof Usage>) {
  const cachedInputTokens = Math.min(details?.cached_tokens ?? 0, inputTokens)
  return {
    inputTokens,
    cachedInputTokens,
    cacheCreationTokens: Math.min(details?.cache_write_tokens ?? 0, inputTokens - cachedInputTokens),
    cacheCreationHourTokens: 0,
    outputTokens: usage.output_tokens,
    costUsd: usage.cost ?? null,
  }
}
