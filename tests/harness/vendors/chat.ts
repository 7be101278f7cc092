import { readChat } from './chat-request.ts'
import { halves, textPieces, usageOf, type VendorAnswer, type VendorCall, type VendorDialect } from './script.ts'

/** OpenAI's Chat Completions. */
export const CHAT: VendorDialect = {
  dialect: 'chat',
  read: readChat,
  answer(call, answer) {
    const toolCalls = toToolCalls(call, answer)
    const message = {
      role: 'assistant',
      content: textPieces(answer).join('') || null,
      refusal: null,
      ...(answer.thinking && { reasoning_content: answer.thinking }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    }
    const choice = { index: 0, message, logprobs: null, finish_reason: finishOf(answer) }
    return { ...head(call), object: 'chat.completion', choices: [choice], usage: toUsage(answer) }
  },
  events(call, answer) {
    const isCounted = Reflect.get(Object(call.body.stream_options), 'include_usage') === true
    const chunk = (choices: unknown[], usage: unknown = null) => ({
      data: { ...head(call), object: 'chat.completion.chunk', choices, ...(isCounted && { usage }) },
    })
    const part = (delta: unknown, finish: string | null = null) =>
      chunk([{ index: 0, delta, logprobs: null, finish_reason: finish }])
    return [
      part({ role: 'assistant', content: answer.toolCalls ? null : '', refusal: null }),
      ...(answer.thinking ? halves(answer.thinking).map((half) => part({ reasoning_content: half })) : []),
      ...textPieces(answer).map((content) => part({ content })),
      ...toToolCalls(call, answer).flatMap(({ function: { name, arguments: json }, ...toolCall }, index) => [
        part({ tool_calls: [{ index, ...toolCall, function: { name, arguments: '' } }] }),
        ...halves(json).map((half) => part({ tool_calls: [{ index, function: { arguments: half } }] })),
      ]),
      part({}, finishOf(answer)),
      ...(isCounted ? [chunk([], toUsage(answer))] : []),
      { data: '[DONE]' },
    ]
  },
  errorBody: openAiError,
  errorEvent: (message) => ({ data: openAiError(500, message, null) }),
}

/** Returns an error body of OpenAI, for Chat Completions and Responses. */
export function openAiError(status: number, message: string, code: string | null) {
  const types: Readonly<Record<number, string>> = { 429: 'rate_limit_error', 500: 'server_error', 503: 'server_error' }
  return { error: { message, type: types[status] ?? 'invalid_request_error', param: null, code } }
}

function head({ number, body }: VendorCall) {
  return { id: `chatcmpl-${number}`, created: 1_800_000_000, model: body.model, system_fingerprint: 'fp_double' }
}

function finishOf({ toolCalls, isCutAtMaxTokens }: VendorAnswer): string {
  return isCutAtMaxTokens ? 'length' : toolCalls ? 'tool_calls' : 'stop'
}

function toToolCalls({ number }: VendorCall, { toolCalls = [] }: VendorAnswer) {
  return toolCalls.map((toolCall, index) => ({
    id: `call_${number}_${index}`,
    type: 'function',
    function: { name: toolCall.name, arguments: JSON.stringify(toolCall.arguments) },
  }))
}

function toUsage(answer: VendorAnswer) {
  const { input, output, cached, written, writtenForHour, reasoning } = usageOf(answer)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written + writtenForHour, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  }
}
