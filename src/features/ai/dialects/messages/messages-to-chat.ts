import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import { type ChatPart, contentToChat, readBlock, toChatParts } from './content-to-chat.ts'
import { invalidField, readList, readObject, readString } from './read-fields.ts'

/** Converts the system prompt and the conversation to chat messages. @throws AppError `invalid` */
export function messagesToChat(request: JsonObject): JsonObject[] {
  const messages = readList(request.messages, 'messages')
  const turns: JsonObject[] = [...toSystemMessage(request.system)]
  let callIds: ReadonlySet<string> = new Set()
  for (const [index, value] of messages.entries()) {
    const path = `messages.${index}`
    const message = readObject(value, path)
    if (message.role === 'assistant') {
      turns.push(...toAssistantMessage(message.content, `${path}.content`))
      callIds = listCallIds(message.content)
    } else if (message.role === 'user') {
      turns.push(...toUserMessages(message.content, callIds, `${path}.content`))
      callIds = new Set()
    } else if (message.role === 'system') {
      turns.push({ role: 'system', content: toTextContent(message.content, `${path}.content`) })
    } else {
      throw invalidField(`${path}.role`, "Input should be 'user' or 'assistant'")
    }
  }
  const last = messages.at(-1)
  if (isJsonObject(last) && last.role === 'assistant') {
    throw invalidField('messages', 'This model cannot continue an answer: the last message has to be from the user')
  }
  return turns
}

function toSystemMessage(system: unknown): JsonObject[] {
  if (system === undefined || system === null || system === '') return []
  const content = toTextContent(system, 'system')
  return content.length === 0 ? [] : [{ role: 'system', content }]
}

function toTextContent(content: unknown, path: string): string | readonly ChatPart[] {
  if (typeof content === 'string') return content
  const parts = readList(content, path).flatMap((part, index) => toChatParts(part, `${path}.${index}`))
  if (parts.some(({ type }) => type !== 'text')) throw invalidField(path, 'Only text can be passed on to this model')
  return contentToChat(parts)
}

function listCallIds(content: unknown): Set<string> {
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : []
  return new Set(blocks.flatMap(({ type, id }) => (type === 'tool_use' && typeof id === 'string' ? [id] : [])))
}

/**
 * Text and tool calls of an answer. Thinking is left out: only the vendor that signed it can read it, and the other
 * dialect has no place for it.
 */
function toAssistantMessage(content: unknown, path: string): JsonObject[] {
  if (typeof content === 'string') return [{ role: 'assistant', content }]
  const parts: ChatPart[] = []
  const calls: JsonObject[] = []
  for (const [index, value] of readList(content, path).entries()) {
    const { block, type } = readBlock(value, `${path}.${index}`)
    if (type === 'tool_use') calls.push(toToolCall(block, `${path}.${index}`))
    else if (type === 'text') parts.push(...toChatParts(block, `${path}.${index}`))
    else if (type !== 'thinking' && type !== 'redacted_thinking') {
      throw invalidField(`${path}.${index}.type`, `Content of type '${type}' cannot be passed on to this model`)
    }
  }
  if (parts.length === 0 && calls.length === 0) return []
  return [
    {
      role: 'assistant',
      content: parts.length === 0 ? null : contentToChat(parts),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}

function toToolCall(block: JsonObject, path: string): JsonObject {
  const input = JSON.stringify(readObject(block.input, `${path}.input`))
  const called = { name: readString(block.name, `${path}.name`), arguments: input }
  return { id: readString(block.id, `${path}.id`), type: 'function', function: called }
}

/** Tool results become messages of their own. Their images follow in the user's message, because only that can hold them. */
function toUserMessages(content: unknown, callIds: ReadonlySet<string>, path: string): JsonObject[] {
  if (typeof content === 'string') return [{ role: 'user', content }]
  const results: JsonObject[] = []
  const parts: ChatPart[] = []
  for (const [index, value] of readList(content, path).entries()) {
    const at = `${path}.${index}`
    const { block, type } = readBlock(value, at)
    if (type !== 'tool_result') {
      parts.push(...toChatParts(block, at))
      continue
    }
    const { message, media } = toToolMessage(block, callIds, at)
    results.push(message)
    parts.push(...media)
  }
  return parts.length === 0 ? results : [...results, { role: 'user', content: contentToChat(parts) }]
}

function toToolMessage(block: JsonObject, callIds: ReadonlySet<string>, path: string) {
  const id = readString(block.tool_use_id, `${path}.tool_use_id`)
  if (!callIds.has(id)) throw orphanResult(id, path)
  const parts = typeof block.content === 'string' ? [{ type: 'text', text: block.content }] : toResultParts(block, path)
  const [texts, media] = [parts.filter(({ type }) => type === 'text'), parts.filter(({ type }) => type !== 'text')]
  const said = block.is_error === true ? markAsError(texts) : texts
  const content = said.length === 0 ? '' : contentToChat(said)
  return { message: { role: 'tool', tool_call_id: id, content }, media }
}

/** Chat Completions has no field for a failed tool. */
function markAsError([first, ...others]: readonly ChatPart[]): ChatPart[] {
  return [{ type: 'text', text: `Error: ${first?.text ?? ''}` }, ...others]
}

function toResultParts({ content }: JsonObject, path: string): ChatPart[] {
  if (content === undefined || content === null) return []
  return readList(content, `${path}.content`).flatMap((part, index) => toChatParts(part, `${path}.content.${index}`))
}

/** Returns Anthropic's error for a tool result whose call is not in the message before it. */
function orphanResult(id: string, path: string) {
  return invalidField(
    path,
    `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  )
}

/**
 * Requires a call for each tool result, in the message before it. Needs no other knowledge of the content.
 * @throws AppError `invalid`
 */
export function requireToolCalls(messages: readonly JsonObject[]): void {
  let callIds: ReadonlySet<string> = new Set()
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'assistant') callIds = listCallIds(content)
    if (role !== 'user') continue
    for (const [at, block] of (Array.isArray(content) ? content : []).entries()) {
      if (!isJsonObject(block) || block.type !== 'tool_result') continue
      const id = String(block.tool_use_id)
      if (!callIds.has(id)) throw orphanResult(id, `messages.${index}.content.${at}`)
    }
    callIds = new Set()
  }
}
