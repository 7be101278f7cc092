import { openAiError } from './chat.ts'
import { readResponses } from './responses-request.ts'
import {
  halves,
  signatureOf,
  textPieces,
  usageOf,
  type VendorAnswer,
  type VendorCall,
  type VendorDialect,
  type VendorEvent,
} from './script.ts'

/** OpenAI's Responses. */
export const RESPONSES: VendorDialect = {
  dialect: 'responses',
  read: readResponses,
  answer: (call, answer) => toResponse(call, answer),
  events(call, answer) {
    const begun = {
      ...toResponse(call, answer),
      status: 'in_progress',
      incomplete_details: null,
      output: [],
      usage: null,
    }
    const last = answer.isCutAtMaxTokens ? 'response.incomplete' : 'response.completed'
    const events = [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      ...thinkingEvents(call, answer),
      ...textEvents(call, answer),
      ...toolEvents(call, answer),
      ...searchesOf(call, answer).map((item, index) => ({
        type: 'response.output_item.done',
        output_index: 10 + index,
        item,
      })),
      { type: last, response: toResponse(call, answer) },
    ]
    return events.map((data, sequence_number) => named({ ...data, sequence_number }))
  },
  errorBody: openAiError,
  errorEvent: (message) => named({ type: 'error', code: 'server_error', message, param: null, sequence_number: 1000 }),
}

function named(data: { type: string } & Record<string, unknown>): VendorEvent {
  return { event: data.type, data }
}

function toResponse(call: VendorCall, answer: VendorAnswer) {
  const { body, number } = call
  const { input, output, cached, written, writtenForHour, reasoning } = usageOf(answer)
  return {
    id: `resp_${number}`,
    object: 'response',
    created_at: 1_800_000_000,
    status: answer.isCutAtMaxTokens ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: answer.isCutAtMaxTokens ? { reason: 'max_output_tokens' } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: body.model,
    output: [
      thoughtOf(call, answer),
      messageOf(call, answer),
      ...callsOf(call, answer),
      ...searchesOf(call, answer),
    ].filter((item) => item !== null),
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: written + writtenForHour },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
    metadata: body.metadata ?? {},
  }
}

function thoughtOf({ number }: VendorCall, { thinking }: VendorAnswer) {
  if (!thinking) return null
  const summary = [{ type: 'summary_text', text: thinking }]
  return { id: `rs_${number}`, type: 'reasoning', summary, encrypted_content: signatureOf(`rs_${number}`) }
}

function messageOf({ number }: VendorCall, answer: VendorAnswer) {
  const pieces = textPieces(answer)
  if (pieces.length === 0) return null
  const content = [{ type: 'output_text', text: pieces.join(''), annotations: [], logprobs: [] }]
  return { id: `msg_${number}`, type: 'message', role: 'assistant', status: 'completed', content }
}

/** Returns the items of each search and of opening its first result, which is not charged. */
function searchesOf({ number }: VendorCall, { searches = 0 }: VendorAnswer) {
  return Array.from({ length: searches }, (_, index) => index).flatMap((index) =>
    ['search', 'open_page'].map((type) => ({
      type: 'web_search_call',
      id: `ws_${number}_${index}_${type}`,
      status: 'completed',
      action: { type },
    })),
  )
}

function callsOf({ number }: VendorCall, { toolCalls = [] }: VendorAnswer) {
  return toolCalls.map(({ name, namespace, input, arguments: given }, index) => {
    const head = { call_id: `call_${number}_${index}`, name, ...(namespace && { namespace }), status: 'completed' }
    if (input !== undefined) return { type: 'custom_tool_call', id: `ctc_${number}_${index}`, ...head, input }
    return { type: 'function_call', id: `fc_${number}_${index}`, ...head, arguments: JSON.stringify(given) }
  })
}

function thinkingEvents(call: VendorCall, answer: VendorAnswer) {
  const item = thoughtOf(call, answer)
  if (!item || !answer.thinking) return []
  const at = { item_id: item.id, output_index: 0, summary_index: 0 }
  const empty = { type: 'summary_text', text: '' }
  return [
    { type: 'response.output_item.added', output_index: 0, item: { ...item, summary: [] } },
    { type: 'response.reasoning_summary_part.added', ...at, part: empty },
    ...halves(answer.thinking).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
    { type: 'response.reasoning_summary_text.done', ...at, text: answer.thinking },
    { type: 'response.reasoning_summary_part.done', ...at, part: { ...empty, text: answer.thinking } },
    { type: 'response.output_item.done', output_index: 0, item },
  ]
}

function textEvents(call: VendorCall, answer: VendorAnswer) {
  const item = messageOf(call, answer)
  if (!item) return []
  const output_index = answer.thinking ? 1 : 0
  const at = { item_id: item.id, output_index, content_index: 0 }
  const [part] = item.content
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    ...textPieces(answer).map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text: part?.text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index, item },
  ]
}

function toolEvents(call: VendorCall, answer: VendorAnswer) {
  const before = [answer.thinking, messageOf(call, answer)].filter(Boolean).length
  return callsOf(call, answer).flatMap((item, index) => {
    const output_index = before + index
    const at = { item_id: item.id, output_index }
    const [field, text] = 'input' in item ? ['input', item.input] : ['arguments', item.arguments]
    const prefix = field === 'input' ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
    return [
      { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', [field]: '' } },
      ...halves(text).map((delta) => ({ type: `${prefix}.delta`, ...at, delta })),
      { type: `${prefix}.done`, ...at, [field]: text },
      { type: 'response.output_item.done', output_index, item },
    ]
  })
}
