import type { Dialect } from '../../../src/adapters/models/provider.ts'

/** The tokens that a vendor reports. `input` contains the cached ones and the ones written to a cache. */
export type VendorUsage = {
  input: number
  output: number
  cached?: number
  /** Tokens written to the cache for five minutes. */
  written?: number
  /** Tokens written to the cache for one hour. */
  writtenForHour?: number
  reasoning?: number
}

/** Fault of one answer. Event numbers count from the start of the stream. */
export type VendorFault =
  | { status: number; retryAfterSeconds?: number }
  | { cutAfterEvents: number }
  | { errorAfterEvents: number }
  | { hangAfterEvents: number }
  | 'silence'

/** A use of a function, or of a custom tool, whose `input` is text. The latter exists in Responses only. */
export type ToolUse = { name: string; arguments: Record<string, unknown>; namespace?: string; input?: string }

/** One answer, the same for all dialects; an empty one says `Hello.` for 1000 tokens in and 500 out. */
export type VendorAnswer = {
  /** Pieces are streamed one by one. */
  text?: string | readonly string[]
  thinking?: string
  toolCalls?: readonly ToolUse[]
  /** Web searches that the vendor made itself. */
  searches?: number
  usage?: VendorUsage
  /** The answer ends because it reached the requested maximum of tokens. */
  isCutAtMaxTokens?: boolean
  fault?: VendorFault
  /** Resolves when the event of this number may be sent. */
  beforeEvent?: (index: number) => Promise<void>
}

/** A model call as the vendor received it. */
export type VendorCall = {
  number: number
  dialect: Dialect
  path: string
  headers: Readonly<Record<string, string>>
  body: VendorBody
  /** Names of the functions that the model may call. */
  tools: readonly string[]
  /** Results of tools since the last text of a user, as text. */
  toolResults: readonly string[]
  /** Resolves when the answer is sent, or the client has left before. */
  ended: Promise<'complete' | 'aborted'>
}

export type VendorBody = Readonly<Record<string, unknown>> & { model: string; stream?: boolean | null | undefined }

export type VendorScript = (call: VendorCall) => VendorAnswer | Promise<VendorAnswer>

/** A named event; Chat Completions has events without a name. */
export type VendorEvent = { event?: string; data: unknown }

/** A request that the vendor refuses, with its status and words. */
export class VendorRefusal extends Error {
  readonly status: number
  readonly code: string | null
  constructor(status: number, message: string, code: string | null = null) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** How a vendor speaks one dialect. */
export type VendorDialect = {
  dialect: Dialect
  /** Validates a request as the vendor does. @throws VendorRefusal */
  read(body: unknown, headers: Readonly<Record<string, string>>): Pick<VendorCall, 'body' | 'tools' | 'toolResults'>
  answer(call: VendorCall, answer: VendorAnswer): unknown
  /** Returns the events of a streamed answer, in order. */
  events(call: VendorCall, answer: VendorAnswer): VendorEvent[]
  errorBody(status: number, message: string, code: string | null): unknown
  /** Returns the event with which a stream fails. */
  errorEvent(message: string): VendorEvent
}

export function textPieces({ text, toolCalls }: VendorAnswer): readonly string[] {
  if (text === undefined) return toolCalls ? [] : ['Hello.']
  return typeof text === 'string' ? [text] : text
}

export function usageOf({ usage = { input: 1000, output: 500 } }: VendorAnswer): Required<VendorUsage> {
  return { cached: 0, written: 0, writtenForHour: 0, reasoning: 0, ...usage }
}

/** Splits a text in two, as streamed arguments of tools are. */
export function halves(text: string): [string, string] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** A signature that only the vendor's own thoughts have. */
export function signatureOf(thinking: string): string {
  return Buffer.from(`signed:${Bun.hash(thinking)}`).toString('base64')
}
