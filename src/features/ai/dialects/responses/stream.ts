import type { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import type { AnswerContext, DialectEvent, StreamTranslator } from '../dialect.ts'
import { type CallDelta, readChatDelta } from './chat-delta.ts'
import { sealContinuity } from './continuity.ts'
import { type CalledTool, readCalledTools } from './listed-tools.ts'
import {
  type CallItem,
  type ItemStatus,
  type MessageItem,
  type MessagePart,
  type OutputItem,
  type ReasoningItem,
  toItemObject,
  toPartObject,
} from './output-items.ts'
import { type ResponseState, toResponseObject, toResponseUsage } from './response-object.ts'
import { fromCustomArguments } from './tools.ts'

/** Translates the chunks of a chat completion to the events of a response. */
export function createResponseStream(context: AnswerContext): StreamTranslator {
  return new ResponseStream(context)
}

/** Translates a whole chat completion, which is a stream of one chunk. */
export function fromChatCompletion(completion: JsonObject, context: AnswerContext): JsonObject {
  const stream = new ResponseStream(context)
  stream.push(completion)
  stream.end()
  return stream.response
}

/** Returns the last events of a stream that breaks off, from `sequence` on. `response` is null when none was sent yet. */
export function toFailure(response: JsonObject | null, sequence: number, error: AppError): DialectEvent[] {
  const { message } = error
  const code = codeOfFailure(error)
  const failed = response && { response: { ...response, status: 'failed', error: { code, message } } }
  const events = [
    ...(failed ? [{ type: 'response.failed', ...failed }] : []),
    { type: 'error', code, message, param: null },
  ]
  return events.map(({ type, ...fields }, index) => ({
    event: type,
    data: { type, sequence_number: sequence + index, ...fields },
  }))
}

class ResponseStream implements StreamTranslator {
  readonly #context: AnswerContext
  readonly #tools: ReadonlyMap<string, CalledTool>
  readonly #state: ResponseState
  readonly #items: OutputItem[] = []
  /** Open tool calls by their index in the chat completion. Providers may interleave them, so they close at the end. */
  readonly #calls = new Map<number, CallItem>()
  #events: DialectEvent[] = []
  #sequence = 0
  /** The reasoning or message that grows. */
  #growing: ReasoningItem | MessageItem | null = null
  #reasoningField: string | null = null
  #finishReason: string | null = null

  constructor(context: AnswerContext) {
    this.#context = context
    this.#tools = readCalledTools(context.sent ?? context.request)
    this.#state = { id: context.newId('resp'), createdAt: context.nowSeconds(), status: 'in_progress' }
  }

  get response(): JsonObject {
    return toResponseObject(this.#context, this.#state)
  }

  push(chunk: JsonObject): DialectEvent[] {
    this.#start()
    const delta = readChatDelta(chunk)
    if (delta.usage) this.#state.usage = toResponseUsage(delta.usage)
    this.#finishReason = delta.finishReason ?? this.#finishReason
    if (delta.reasoning !== '') this.#addReasoning(delta.reasoning, delta.reasoningField)
    if (delta.content !== '') this.#addText(delta.content, delta.logprobs)
    if (delta.refusal !== '') this.#addRefusal(delta.refusal)
    for (const annotation of delta.annotations) this.#addAnnotation(annotation)
    for (const call of delta.calls) this.#addToCall(call)
    return this.#takeEvents()
  }

  end(): DialectEvent[] {
    this.#start()
    const incompleteReason = toIncompleteReason(this.#finishReason)
    const status = incompleteReason ? 'incomplete' : 'completed'
    this.#closeAll(status)
    this.#addExtras()
    const output = this.#items.map(toItemObject)
    Object.assign(this.#state, { status, completedAt: this.#context.nowSeconds(), output, incompleteReason })
    this.#emit(`response.${status}`, { response: this.response })
    return this.#takeEvents()
  }

  fail(error: AppError): DialectEvent[] {
    this.#start()
    const output = this.#items.map((item) => toItemObject({ ...item, status: toEnded(item.status) }))
    Object.assign(this.#state, { output })
    return [...this.#takeEvents(), ...toFailure(this.response, this.#sequence, error)]
  }

  #start(): void {
    if (this.#sequence > 0) return
    this.#emit('response.created', { response: this.response })
    this.#emit('response.in_progress', { response: this.response })
  }

  #emit(type: string, fields: JsonObject): void {
    this.#events.push({ event: type, data: { type, sequence_number: this.#sequence, ...fields } })
    this.#sequence += 1
  }

  #takeEvents(): DialectEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  #open<Item extends OutputItem>(prefix: string, fields: Omit<Item, 'id' | 'outputIndex' | 'status'>): Item {
    const position = { id: this.#context.newId(prefix), outputIndex: this.#items.length, status: 'in_progress' }
    const item = { ...position, ...fields } as Item
    this.#items.push(item)
    this.#emit('response.output_item.added', { output_index: item.outputIndex, item: toItemObject(item) })
    return item
  }

  #close(item: OutputItem, status: ItemStatus): void {
    item.status = status
    this.#emit('response.output_item.done', { output_index: item.outputIndex, item: toItemObject(item) })
  }

  #addReasoning(delta: string, field: string | null): void {
    const item = this.#growing?.kind === 'reasoning' ? this.#growing : this.#openReasoning()
    this.#reasoningField = field
    item.text += delta
    this.#emit('response.reasoning_summary_text.delta', { ...toPlace(item), summary_index: 0, delta })
  }

  #openReasoning(): ReasoningItem {
    this.#closeGrowing('completed')
    const item = this.#open<ReasoningItem>('rs', { kind: 'reasoning', text: '', sealed: null })
    this.#growing = item
    const part = { type: 'summary_text', text: '' }
    this.#emit('response.reasoning_summary_part.added', { ...toPlace(item), summary_index: 0, part })
    return item
  }

  #closeReasoning(item: ReasoningItem, status: ItemStatus): void {
    const { text } = item
    const place = { ...toPlace(item), summary_index: 0 }
    const field = this.#reasoningField
    if (field) item.sealed = sealContinuity({ model: this.#context.request.model, message: { [field]: text } })
    this.#emit('response.reasoning_summary_text.done', { ...place, text })
    this.#emit('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text } })
    this.#close(item, status)
  }

  #addText(delta: string, logprobs: readonly unknown[]): void {
    const item = this.#growingMessage()
    const part = this.#growingPart(item, 'output_text', () => ({
      type: 'output_text' as const,
      text: '',
      annotations: [],
      logprobs: [],
    }))
    part.text += delta
    part.logprobs.push(...logprobs)
    this.#emit('response.output_text.delta', { ...toPartPlace(item), delta, logprobs })
  }

  #addRefusal(delta: string): void {
    const item = this.#growingMessage()
    const part = this.#growingPart(item, 'refusal', () => ({ type: 'refusal' as const, refusal: '' }))
    part.refusal += delta
    this.#emit('response.refusal.delta', { ...toPartPlace(item), delta })
  }

  /** Citations follow the text that they belong to. */
  #addAnnotation(annotation: JsonObject): void {
    const item = this.#growing
    const part = item?.kind === 'message' ? item.parts.at(-1) : undefined
    if (item?.kind !== 'message' || part?.type !== 'output_text') return
    part.annotations.push(annotation)
    const annotationIndex = part.annotations.length - 1
    this.#emit('response.output_text.annotation.added', {
      ...toPartPlace(item),
      annotation_index: annotationIndex,
      annotation,
    })
  }

  #growingMessage(): MessageItem {
    if (this.#growing?.kind === 'message') return this.#growing
    this.#closeGrowing('completed')
    const item = this.#open<MessageItem>('msg', { kind: 'message', parts: [] })
    this.#growing = item
    return item
  }

  #growingPart<Type extends MessagePart['type']>(
    item: MessageItem,
    type: Type,
    create: () => Extract<MessagePart, { type: Type }>,
  ): Extract<MessagePart, { type: Type }> {
    const last = item.parts.at(-1)
    if (last?.type === type) return last as Extract<MessagePart, { type: Type }>
    if (last) this.#closePart(item, last)
    const part = create()
    item.parts.push(part)
    this.#emit('response.content_part.added', { ...toPartPlace(item), part: toPartObject(part) })
    return part
  }

  #closePart(item: MessageItem, part: MessagePart): void {
    const place = toPartPlace(item)
    if (part.type === 'refusal') this.#emit('response.refusal.done', { ...place, refusal: part.refusal })
    else this.#emit('response.output_text.done', { ...place, text: part.text, logprobs: [...part.logprobs] })
    this.#emit('response.content_part.done', { ...place, part: toPartObject(part) })
  }

  #closeGrowing(status: ItemStatus): void {
    const item = this.#growing
    this.#growing = null
    if (item?.kind === 'reasoning') this.#closeReasoning(item, status)
    if (item?.kind !== 'message') return
    const last = item.parts.at(-1)
    if (last) this.#closePart(item, last)
    this.#close(item, status)
  }

  #addToCall(call: CallDelta): void {
    const item = this.#findCall(call) ?? this.#openCall(call)
    item.extra ??= call.extra
    if (call.args === '') return
    item.args += call.args
    if (item.isCustom) return
    this.#emit('response.function_call_arguments.delta', { ...toPlace(item), delta: call.args })
  }

  /** Some providers number every call 0 and differ only in the id, and some send no number. */
  #findCall({ index, id }: CallDelta): CallItem | undefined {
    const known = index === null ? [...this.#calls.values()].at(-1) : this.#calls.get(index)
    return known && (id === '' || id === known.callId) ? known : undefined
  }

  #openCall({ index, id, name }: CallDelta): CallItem {
    this.#closeGrowing('completed')
    const tool = this.#tools.get(name) ?? { name, namespace: null, isCustom: false }
    const item = this.#open<CallItem>(tool.isCustom ? 'ctc' : 'fc', {
      kind: 'call',
      callId: id || this.#context.newId('call'),
      ...tool,
      args: '',
      extra: undefined,
    })
    const taken = index === null ? undefined : this.#calls.get(index)
    if (taken) this.#finishCall(taken, 'completed')
    this.#calls.set(index ?? this.#calls.size, item)
    return item
  }

  #closeAll(status: ItemStatus): void {
    this.#closeGrowing(status)
    const open = [...this.#calls.values()]
    for (const item of open) this.#finishCall(item, item === open.at(-1) ? status : 'completed')
  }

  #finishCall(item: CallItem, status: ItemStatus): void {
    const place = toPlace(item)
    if (item.isCustom) {
      const input = fromCustomArguments(item.args)
      this.#emit('response.custom_tool_call_input.delta', { ...place, delta: input })
      this.#emit('response.custom_tool_call_input.done', { ...place, input })
      this.#close(item, status)
      return
    }
    if (item.args === '') {
      item.args = '{}'
      this.#emit('response.function_call_arguments.delta', { ...place, delta: item.args })
    }
    this.#emit('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.args })
    this.#close(item, status)
  }

  /** Adds the extra content of calls as a reasoning item, because clients return only such items unchanged. */
  #addExtras(): void {
    const calls = this.#items.filter((item) => item.kind === 'call' && item.extra !== undefined) as CallItem[]
    if (calls.length === 0) return
    const extras = Object.fromEntries(calls.map(({ callId, extra }) => [callId, extra]))
    const sealed = sealContinuity({ model: this.#context.request.model, calls: extras })
    this.#close(this.#open<ReasoningItem>('rs', { kind: 'reasoning', text: '', sealed }), 'completed')
  }
}

/** Returns the code of a response that failed after it had begun. */
function codeOfFailure({ kind }: AppError): string {
  if (kind === 'limited') return 'rate_limit_exceeded'
  return kind === 'invalid' ? 'invalid_prompt' : 'server_error'
}

function toPlace({ id, outputIndex }: OutputItem): JsonObject {
  return { item_id: id, output_index: outputIndex }
}

/** The place of the last part of a message. */
function toPartPlace(item: MessageItem): JsonObject {
  return { ...toPlace(item), content_index: Math.max(0, item.parts.length - 1) }
}

function toEnded(status: ItemStatus): ItemStatus {
  return status === 'in_progress' ? 'incomplete' : status
}

function toIncompleteReason(finishReason: string | null): ResponseState['incompleteReason'] {
  if (finishReason === 'length') return 'max_output_tokens'
  return finishReason === 'content_filter' ? 'content_filter' : undefined
}
