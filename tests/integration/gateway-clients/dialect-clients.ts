import type { Dialect } from '../../../src/adapters/models/provider.ts'
import { CLAUDE, CODEX } from './installation.ts'

/** Requests of one dialect, and checks of its responses and errors. */
export type DialectClient = {
  dialect: Dialect
  path: string
  /** A valid request for at most `maxTokens`. */
  ask(text: string, maxTokens: number): Record<string, unknown>
  /** Invalid requests by their error. */
  wrong: Readonly<Record<string, Record<string, unknown>>>
  /** Returns whether a body is an error of the dialect. */
  isError(body: unknown): boolean
  /** Returns whether an event reports that the stream failed. */
  isErrorEvent(event: { event: string | undefined; data: string }): boolean
}

const TEXT = 'What time is it?'
const PICTURE = { type: 'hologram', data: 'x' }

const CHAT: DialectClient = {
  dialect: 'chat',
  path: '/v1/chat/completions',
  ask: (content, max_tokens) => ({ model: CODEX, max_tokens, messages: [{ role: 'user', content }] }),
  wrong: {
    'a tool result without its call': {
      messages: [
        { role: 'user', content: TEXT },
        { role: 'tool', tool_call_id: 'call_1', content: 'noon' },
      ],
    },
    'a content type that does not exist': { messages: [{ role: 'user', content: [PICTURE] }] },
  },
  isError: isOpenAiError,
  isErrorEvent: ({ data }) => data.startsWith('{') && isOpenAiError(JSON.parse(data)),
}

const MESSAGES: DialectClient = {
  dialect: 'messages',
  path: '/v1/messages',
  ask: (content, max_tokens) => ({ model: CLAUDE, max_tokens, messages: [{ role: 'user', content }] }),
  wrong: {
    'a tool result without its call': {
      messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'noon' }] }],
    },
    'a content type that does not exist': { messages: [{ role: 'user', content: [PICTURE] }] },
    'no maximum of tokens': { max_tokens: undefined },
  },
  isError: isAnthropicError,
  isErrorEvent: ({ event, data }) => event === 'error' && isAnthropicError(JSON.parse(data)),
}

const RESPONSES: DialectClient = {
  dialect: 'responses',
  path: '/v1/responses',
  ask: (input, max_output_tokens) => ({ model: CODEX, max_output_tokens, input }),
  wrong: {
    'a tool result without its call': {
      input: [{ type: 'function_call_output', call_id: 'call_1', output: 'noon' }],
    },
    'a content type that does not exist': { input: [{ role: 'user', content: [PICTURE] }] },
    'a response that does not exist': { previous_response_id: 'resp_of_nobody' },
  },
  isError: isOpenAiError,
  isErrorEvent: ({ event, data }) => {
    if (event === 'error') return typeof Object(JSON.parse(data)).message === 'string'
    return event === 'response.failed' && typeof Object(JSON.parse(data)).response.error.message === 'string'
  },
}

export const DIALECT_CLIENTS = [CHAT, MESSAGES, RESPONSES]

function isOpenAiError(body: unknown): boolean {
  const { error } = Object(body)
  return typeof error?.message === 'string' && typeof error.type === 'string' && 'code' in error && 'param' in error
}

function isAnthropicError(body: unknown): boolean {
  const { type, error } = Object(body)
  return type === 'error' && typeof error?.type === 'string' && typeof error.message === 'string'
}
