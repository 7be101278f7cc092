import type { Dialect } from '../../../src/adapters/models/provider.ts'

/** Reported tokens. `input` includes tokens read from and written to a cache. */
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

/** Fault of one response. Event numbers count from the start of the stream. */
export type VendorFault =
  | { status: number; retryAfterSeconds?: number }
  | { cutAfterEvents: number }
  | { errorAfterEvents: number }
  | { hangAfterEvents: number }
  | 'silence'

/** A call of a function, or of a custom tool, whose `input` is text. Custom tools exist only in Responses. */
export type ToolUse = { name: string; arguments: Record<string, unknown>; namespace?: string; input?: string }

/** One response for all dialects. The default is `Hello.` with 1,000 input and 500 output tokens. */
export type VendorAnswer = {
  /** An array is streamed in chunks. */
  text?: string | readonly string[]
  thinking?: string
  toolCalls?: readonly ToolUse[]
  /** Number of web searches that the vendor runs itself. */
  searches?: number
  usage?: VendorUsage
  /** If true, the response ends at the requested maximum of tokens. */
  isCutAtMaxTokens?: boolean
  fault?: VendorFault
  /** Returns a promise that the event with this number waits for. */
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
  /** Tool results since the last user message, as text. */
  toolResults: readonly string[]
  /** Resolves when the response is complete or the client has disconnected. */
  ended: Promise<'complete' | 'aborted'>
}

export type VendorBody = Readonly<Record<string, unknown>> & { model: string; stream?: boolean | null | undefined }

export type VendorScript = (call: VendorCall) => VendorAnswer | Promise<VendorAnswer>

/** A named event; Chat Completions has events without a name. */
export type VendorEvent = { event?: string; data: unknown }

/** A rejected request, with status and message. */
export class VendorRefusal extends Error {
  readonly status: number
  readonly code: string | null
  constructor(status: number, message: string, code: string | null = null) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** One API format of a vendor. */
export type VendorDialect = {
  dialect: Dialect
  /** Validates a request as the vendor does. @throws VendorRefusal */
  read(body: unknown, headers: Readonly<Record<string, string>>): Pick<VendorCall, 'body' | 'tools' | 'toolResults'>
  answer(call: VendorCall, answer: VendorAnswer): unknown
  /** Returns the events of a streamed response, in order. */
  events(call: VendorCall, answer: VendorAnswer): VendorEvent[]
  errorBody(status: number, message: string, code: string | null): unknown
  /** Returns the error event that ends a failed stream. */
  errorEvent(message: string): VendorEvent
}

export function textPieces({ text, toolCalls }: VendorAnswer): readonly string[] {
  if (text === undefined) return toolCalls ? [] : ['Hello.']
  return typeof text === 'string' ? [text] : text
}

export function usageOf({ usage = { input: 1000, output: 500 } }: VendorAnswer): Required<VendorUsage> {
  return { cached: 0, written: 0, writtenForHour: 0, reasoning: 0, ...usage }
}

/** Splits a text in two, as streamed tool arguments are. */
export function halves(text: string): [string, string] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** Returns the signature with which the vendor recognizes its own reasoning. */
export function signatureOf(thinking: string): string {
  return Buffer.from(`signed:${Bun.hash(thinking)}`).toString('base64')
}
