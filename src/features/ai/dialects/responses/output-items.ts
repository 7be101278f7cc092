import type { JsonObject } from '../../../../core/json/json-object.ts'
import type { CalledTool } from './listed-tools.ts'
import { fromCustomArguments } from './tools.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'
type TextPart = { type: 'output_text'; text: string; annotations: JsonObject[]; logprobs: unknown[] }
type RefusalPart = { type: 'refusal'; refusal: string }
/** A part of a message under construction. */
export type MessagePart = TextPart | RefusalPart

type Position = { id: string; outputIndex: number; status: ItemStatus }
export type ReasoningItem = Position & { kind: 'reasoning'; text: string; sealed: string | null }
export type MessageItem = Position & { kind: 'message'; parts: MessagePart[] }
export type CallItem = Position &
  CalledTool & {
    kind: 'call'
    callId: string
    args: string
    /** The extra content that the provider requires in the next request. */
    extra: unknown
  }
/** An item of the output under construction. */
export type OutputItem = ReasoningItem | MessageItem | CallItem

/** Returns an item as it is sent, with the content received so far. */
export function toItemObject(item: OutputItem): JsonObject {
  const { id, status } = item
  if (item.kind === 'reasoning') return toReasoning(item)
  if (item.kind === 'message') {
    return { id, type: 'message', status, role: 'assistant', content: item.parts.map(toPartObject) }
  }
  const { callId, name, namespace, args, isCustom } = item
  const call = { status, call_id: callId, name, ...(namespace !== null && { namespace }) }
  if (!isCustom) return { id, type: 'function_call', ...call, arguments: args }
  const input = status === 'in_progress' ? '' : fromCustomArguments(args)
  return { id, type: 'custom_tool_call', ...call, input }
}

/** Returns a copy, because the part grows with the next chunk. */
export function toPartObject(part: MessagePart): JsonObject {
  if (part.type === 'refusal') return { ...part }
  return { ...part, annotations: [...part.annotations], logprobs: [...part.logprobs] }
}

function toReasoning({ id, text, sealed }: ReasoningItem): JsonObject {
  return {
    id,
    type: 'reasoning',
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    ...(sealed !== null && { encrypted_content: sealed }),
  }
}
