import { readMessages } from './messages-request.ts'
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

/** Anthropic's Messages. */
export const MESSAGES: VendorDialect = {
  dialect: 'messages',
  read: readMessages,
  answer: (call, answer) => ({
    ...head(call),
    content: toBlocks(call, answer).map(({ whole }) => whole),
    ...stopOf(answer),
    usage: { ...toInputUsage(answer), ...toOutputUsage(answer) },
  }),
  events: (call, answer) => [
    named({
      type: 'message_start',
      message: {
        ...head(call),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...toInputUsage(answer), output_tokens: 1 },
      },
    }),
    ...toBlocks(call, answer).flatMap(({ start, deltas }, index) => [
      named({ type: 'content_block_start', index, content_block: start }),
      ...(index === 0 ? [named({ type: 'ping' })] : []),
      ...deltas.map((delta) => named({ type: 'content_block_delta', index, delta })),
      named({ type: 'content_block_stop', index }),
    ]),
    named({
      type: 'message_delta',
      delta: stopOf(answer),
      usage: { ...toSums(answer), ...toOutputUsage(answer) },
    }),
    named({ type: 'message_stop' }),
  ],
  errorBody: toError,
  errorEvent: (message) => named(toError(529, message)),
}

function named(data: { type: string } & Record<string, unknown>): VendorEvent {
  return { event: data.type, data }
}

function toError(status: number, message: string) {
  const types: Readonly<Record<number, string>> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    402: 'billing_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    504: 'timeout_error',
    529: 'overloaded_error',
  }
  return { type: 'error', error: { type: types[status] ?? 'api_error', message }, request_id: 'req_double' }
}

function head({ number, body }: VendorCall) {
  return { id: `msg_${number}`, type: 'message', role: 'assistant', model: body.model }
}

function stopOf({ toolCalls, isCutAtMaxTokens }: VendorAnswer) {
  return { stop_reason: isCutAtMaxTokens ? 'max_tokens' : toolCalls ? 'tool_use' : 'end_turn', stop_sequence: null }
}

/** Returns each content block as a whole, and as its start with deltas. */
function toBlocks({ number }: VendorCall, answer: VendorAnswer) {
  const { thinking, toolCalls = [] } = answer
  const pieces = textPieces(answer)
  const signature = thinking ? signatureOf(thinking) : ''
  return [
    ...(thinking
      ? [
          {
            whole: { type: 'thinking', thinking, signature },
            start: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              ...halves(thinking).map((half) => ({ type: 'thinking_delta', thinking: half })),
              { type: 'signature_delta', signature },
            ],
          },
        ]
      : []),
    ...(pieces.length > 0
      ? [
          {
            whole: { type: 'text', text: pieces.join('') },
            start: { type: 'text', text: '' },
            deltas: pieces.map((text) => ({ type: 'text_delta', text })),
          },
        ]
      : []),
    ...toolCalls.map(({ name, arguments: input }, index) => {
      const head = { type: 'tool_use', id: `toolu_${number}_${index}`, name }
      return {
        whole: { ...head, input },
        start: { ...head, input: {} },
        deltas: ['', ...halves(JSON.stringify(input))].map((json) => ({
          type: 'input_json_delta',
          partial_json: json,
        })),
      }
    }),
  ]
}

function toSums(answer: VendorAnswer) {
  const { input, cached, written, writtenForHour } = usageOf(answer)
  return {
    input_tokens: input - cached - written - writtenForHour,
    cache_creation_input_tokens: written + writtenForHour,
    cache_read_input_tokens: cached,
  }
}

function toInputUsage(answer: VendorAnswer) {
  const { written, writtenForHour } = usageOf(answer)
  return {
    ...toSums(answer),
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: writtenForHour },
    service_tier: 'standard',
  }
}

function toOutputUsage(answer: VendorAnswer) {
  const { searches } = answer
  const used = searches ? { server_tool_use: { web_search_requests: searches, web_fetch_requests: 0 } } : {}
  return { output_tokens: usageOf(answer).output, ...used }
}
