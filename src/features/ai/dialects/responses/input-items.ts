import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import { type ChatContent, toChatContent } from './content.ts'
import { openContinuity } from './continuity.ts'
import { arrayAt, isSet, objectAt, parameterError, textAt } from './fields.ts'
import { toChatName } from './listed-tools.ts'
import { toCustomArguments } from './tools.ts'

type ChatToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }
type ChatMessage = { role: string; content?: ChatContent | null; tool_calls?: ChatToolCall[] } & Record<string, unknown>
/** A message, and the tool results that Chat Completions requires right after it, then the files of those results. */
type Entry = { message: ChatMessage; results: ChatMessage[]; attachments: ChatMessage[] }
type Conversation = {
  model: unknown
  entries: Entry[]
  /** Tool calls without a result so far. */
  open: Map<string, Entry>
  /** Fields for the next message of the assistant. */
  carried: JsonObject
  /** Extra content of tool calls by their ids. */
  extras: Map<string, unknown>
}
type ItemReader = (conversation: Conversation, item: JsonObject, param: string) => void

/**
 * Translates `input` to chat messages. Adjacent items of the assistant become one message; results follow their calls.
 * @throws AppError `invalid` for a result without its call, a call without its result, and an item that cannot be
 * expressed.
 */
export function toChatMessages(input: unknown, model: unknown): JsonObject[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  const items = arrayAt(input, 'input')
  const conversation: Conversation = { model, entries: [], open: new Map(), carried: {}, extras: new Map() }
  for (const [index, item] of items.entries()) {
    const param = `input[${index}]`
    readItem(conversation, objectAt(item, param), param)
  }
  const [unanswered] = conversation.open.keys()
  if (unanswered !== undefined) throw itemError(`No tool output found for function call ${unanswered}.`)
  const messages = conversation.entries.flatMap(({ message, results, attachments }) => [
    withExtras(message, conversation.extras),
    ...results,
    ...attachments,
  ])
  if (messages.length === 0) throw itemError('Input must contain at least one message.')
  return messages
}

function readItem(conversation: Conversation, item: JsonObject, param: string): void {
  const type = item.type ?? 'message'
  const reader = typeof type === 'string' && Object.hasOwn(READERS, type) ? READERS[type] : undefined
  if (!reader) {
    const message = `Items of type '${String(type)}' are not available for this model.`
    throw parameterError(`${param}.type`, 'unsupported_value', message)
  }
  reader(conversation, item, param)
}

const READERS: Readonly<Record<string, ItemReader>> = {
  message: addMessage,
  reasoning: addReasoning,
  function_call: (conversation, item, param) =>
    addCall(conversation, item, textAt(item.arguments, `${param}.arguments`), param),
  custom_tool_call: (conversation, item, param) =>
    addCall(conversation, item, toCustomArguments(textAt(item.input, `${param}.input`)), param),
  function_call_output: addResult,
  custom_tool_call_output: addResult,
  // Listed with the tools of the request.
  additional_tools: () => undefined,
}

const ROLES: Readonly<Record<string, string>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  // Providers other than OpenAI know the role by its older name.
  developer: 'system',
}

function addMessage(conversation: Conversation, item: JsonObject, param: string): void {
  const named = textAt(item.role, `${param}.role`)
  const role = Object.hasOwn(ROLES, named) ? ROLES[named] : undefined
  if (role === undefined) {
    const message = `Invalid value: '${named}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`
    throw parameterError(`${param}.role`, 'invalid_value', message)
  }
  const content = toChatContent(item.content, role, `${param}.content`)
  add(conversation, role === 'assistant' ? toAssistant(content) : { role, content })
}

/** A refusal without other content has its text in a separate field. */
function toAssistant(content: ChatContent): ChatMessage {
  const [part, ...others] = typeof content === 'string' ? [] : content
  if (part?.type === 'refusal' && others.length === 0)
    return { role: 'assistant', content: null, refusal: part.refusal }
  return { role: 'assistant', content }
}

function add(conversation: Conversation, message: ChatMessage): Entry {
  const entry: Entry = { message, results: [], attachments: [] }
  if (message.role === 'assistant') {
    Object.assign(message, conversation.carried)
    conversation.carried = {}
  }
  conversation.entries.push(entry)
  return entry
}

/** The namespace of a tool becomes part of its name. */
function addCall(conversation: Conversation, item: JsonObject, args: string, param: string): void {
  const id = textAt(item.call_id, `${param}.call_id`)
  if (conversation.open.has(id)) throw itemError(`Duplicate function call ${id}.`)
  const ownName = textAt(item.name, `${param}.name`)
  const name = toChatName(ownName, isSet(item.namespace) ? textAt(item.namespace, `${param}.namespace`) : null)
  const last = conversation.entries.at(-1)
  const isJoined = last?.message.role === 'assistant' && last.results.length === 0
  const entry = isJoined ? last : add(conversation, { role: 'assistant', content: null })
  entry.message.tool_calls ??= []
  entry.message.tool_calls.push({ id, type: 'function', function: { name, arguments: args } })
  conversation.open.set(id, entry)
}

/** Results of tools are text in Chat Completions, so images and files follow in a message of the user. */
function addResult({ open }: Conversation, item: JsonObject, param: string): void {
  const id = textAt(item.call_id, `${param}.call_id`)
  const entry = open.get(id)
  if (!entry) throw itemError(`No tool call found for function call output with call_id ${id}.`)
  open.delete(id)
  const content = toChatContent(item.output, 'user', `${param}.output`)
  const parts = typeof content === 'string' ? [] : content
  const files = parts.filter(({ type }) => type !== 'text')
  const texts = parts.filter(({ type }) => type === 'text')
  const text = texts.length > 0 ? texts : `The output is in the next message, as output of ${id}.`
  entry.results.push({
    role: 'tool',
    tool_call_id: id,
    content: typeof content === 'string' ? content : files.length > 0 ? text : texts,
  })
  if (files.length === 0) return
  entry.attachments.push({ role: 'user', content: [{ type: 'text', text: `Output of ${id}:` }, ...files] })
}

/** Reasoning is not part of chat messages, except for the fields that this model's provider wants back. */
function addReasoning(conversation: Conversation, item: JsonObject): void {
  const continuity = openContinuity(item.encrypted_content, conversation.model)
  if (!continuity) return
  conversation.carried = { ...conversation.carried, ...continuity.message }
  for (const [id, extra] of Object.entries(continuity.calls ?? {})) conversation.extras.set(id, extra)
}

function withExtras(message: ChatMessage, extras: ReadonlyMap<string, unknown>): ChatMessage {
  if (!message.tool_calls || extras.size === 0) return message
  const calls = message.tool_calls.map((call) => {
    const extra = extras.get(call.id)
    return isJsonObject(extra) ? { ...call, extra_content: extra } : call
  })
  return { ...message, tool_calls: calls }
}

function itemError(message: string): AppError {
  return new AppError('invalid', message, { param: 'input' })
}
