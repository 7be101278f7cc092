import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import type { AnswerContext, DialectEvent, StreamTranslator } from '../dialect.ts'
import {
  firstOf,
  thoughtsOf,
  toMessageHead,
  toMessageUsage,
  toStopReason,
  toText,
  toToolUseId,
  UNSIGNED,
  wantsThinking,
} from './answer-from-chat.ts'
import { toMessagesError } from './errors.ts'

/** The block that is being sent; `key` identifies it among blocks of the same type. */
type OpenBlock = { type: 'thinking' | 'text' | 'tool_use'; key: string; index: number }

/** Translates a stream of chat completion chunks to the events of a message. */
export function createMessageStream(context: AnswerContext): StreamTranslator {
  const showsThinking = wantsThinking(context.request)
  const blocks = createBlocks()
  let isStarted = false
  let usage: unknown = null
  let choice: JsonObject = {}
  let isRefusal = false
  let hasCalls = false

  const start = (): DialectEvent[] => {
    if (isStarted) return []
    isStarted = true
    const counted = toMessageUsage({ prompt_tokens: context.inputTokens })
    const empty = { content: [], stop_reason: null, stop_sequence: null, usage: counted }
    return [toEvent('message_start', { message: { ...toMessageHead(context), ...empty } })]
  }
  const say = (delta: JsonObject): DialectEvent[] => {
    const thoughts = showsThinking ? thoughtsOf(delta) : ''
    const refusal = toText(delta.refusal)
    const text = `${toText(delta.content)}${refusal}`
    isRefusal ||= refusal !== ''
    const calls = Array.isArray(delta.tool_calls) ? delta.tool_calls.filter(isJsonObject) : []
    hasCalls ||= calls.length > 0
    return [
      ...(thoughts === '' ? [] : blocks.think(thoughts)),
      ...(text === '' ? [] : blocks.say(text)),
      ...calls.flatMap((call) => blocks.call(call, context)),
    ]
  }

  return {
    push(chunk) {
      usage = chunk.usage ?? usage
      const next = firstOf(chunk.choices)
      if (next.finish_reason != null) choice = next
      return [...start(), ...(isJsonObject(next.delta) ? say(next.delta) : [])]
    },
    end() {
      const delta = toStopReason(choice, { hasCalls, isRefusal }, context.request)
      return [
        ...start(),
        ...blocks.close(),
        toEvent('message_delta', { delta, usage: toMessageUsage(usage) }),
        toEvent('message_stop', {}),
      ]
    },
    fail: (error) => [toEvent('error', { error: toMessagesError(error).error })],
  }
}

/** Opens and closes content blocks, one after another. A ping follows the first start, as Anthropic sends it. */
function createBlocks() {
  let open: OpenBlock | null = null
  let count = 0
  const started = new Set<string>()

  const close = (): DialectEvent[] => {
    if (open === null) return []
    const { index, type } = open
    open = null
    const signature = { index, delta: { type: 'signature_delta', signature: UNSIGNED } }
    return [
      ...(type === 'thinking' ? [toEvent('content_block_delta', signature)] : []),
      toEvent('content_block_stop', { index }),
    ]
  }
  const begin = (type: OpenBlock['type'], key: string, block: JsonObject): DialectEvent[] => {
    const closed = close()
    open = { type, key, index: count++ }
    const event = toEvent('content_block_start', { index: open.index, content_block: { type, ...block } })
    return [...closed, event, ...(count === 1 ? [toEvent('ping', {})] : [])]
  }
  const add = (delta: JsonObject): DialectEvent => toEvent('content_block_delta', { index: open?.index ?? 0, delta })
  const isOpen = (type: OpenBlock['type'], key: string) => open?.type === type && open.key === key

  return {
    close,
    think: (thinking: string) => [
      ...(isOpen('thinking', '') ? [] : begin('thinking', '', { thinking: '', signature: '' })),
      add({ type: 'thinking_delta', thinking }),
    ],
    say: (text: string) => [
      ...(isOpen('text', '') ? [] : begin('text', '', { text: '' })),
      add({ type: 'text_delta', text }),
    ],
    /** @throws AppError `upstream_failed` for a call that continues after another block began. */
    call(call: JsonObject, context: AnswerContext): DialectEvent[] {
      const called = isJsonObject(call.function) ? call.function : {}
      const key = String(call.index ?? count)
      const isNew = !started.has(key)
      if (!isNew && !isOpen('tool_use', key)) {
        throw new AppError('upstream_failed', 'The model mixed the arguments of several tool calls')
      }
      started.add(key)
      const block = { id: toToolUseId(call.id, context), name: toText(called.name), input: {} }
      const input = toText(called.arguments)
      return [
        ...(isNew ? begin('tool_use', key, block) : []),
        ...(input === '' ? [] : [add({ type: 'input_json_delta', partial_json: input })]),
      ]
    },
  }
}

function toEvent(type: string, data: JsonObject): DialectEvent {
  return { event: type, data: { type, ...data } }
}
