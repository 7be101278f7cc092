import { type FlexibleSchema, type ToolSet, tool } from 'ai'
import type { z } from 'zod'

/**
 * Context of a tool call. `json` is the input as the owner sees it; `approvalId` is null without an approval;
 * `sessionKey` is null for a conversation that is not stored.
 */
type ToolContext = { signal: AbortSignal; json: string; approvalId: string | null; sessionKey: string | null }

/**
 * A tool that a model may call. An error of `execute` goes back to the model as the result. `needsOwner` decides by the
 * input whether the owner must approve the call.
 */
export type AgentTool = {
  description: string
  inputSchema: FlexibleSchema<unknown>
  needsOwner(input: unknown): boolean
  /**
   * Runs before the owner is asked.
   * @throws AppError for a call that cannot succeed, so the owner is not asked in vain.
   */
  check?(input: unknown): Promise<void>
  /** Tool name in the approval request, if it differs. */
  askedAs?: string
  /** The platform executes the tool and uses up the approval. */
  isDoneByPlatform: boolean
  execute(input: unknown, use: ToolContext): Promise<unknown>
}

/** Defines a tool whose input is parsed with `inputSchema` before it is shown, approved or executed. */
export function defineTool<Schema extends z.ZodType>(definition: {
  description: string
  inputSchema: Schema
  /** By default no call needs approval. */
  needsOwner?: (input: z.infer<Schema>) => boolean
  isDoneByPlatform?: boolean
  check?: (input: z.infer<Schema>) => Promise<void>
  execute: (input: z.infer<Schema>, use: ToolContext) => Promise<unknown>
}): AgentTool {
  const { description, inputSchema, needsOwner = () => false, isDoneByPlatform = false, check, execute } = definition
  return {
    description,
    inputSchema,
    isDoneByPlatform,
    needsOwner: (input) => needsOwner(inputSchema.parse(input)),
    ...(check && { check: async (input) => check(inputSchema.parse(input)) }),
    execute: async (input, use) => execute(inputSchema.parse(input), use),
  }
}

/** A tool call of the model; `id` is the model's own. */
type ToolCallOfModel = { id: string; name: string; input: unknown; signal: AbortSignal }

/** Runs a tool: counts the call, asks the owner if necessary, and executes it with the approval. */
export type ToolGuard = (agentTool: AgentTool, call: ToolCallOfModel) => Promise<unknown>

/** Converts tools to the AI SDK's format; every call passes `guard`. */
export function toToolSet(tools: Readonly<Record<string, AgentTool>>, guard: ToolGuard): ToolSet {
  const never = new AbortController().signal
  return Object.fromEntries(
    Object.entries(tools).map(([name, agentTool]) => [
      name,
      tool({
        description: agentTool.description,
        inputSchema: agentTool.inputSchema,
        execute: (input, { abortSignal = never, toolCallId }) =>
          guard(agentTool, { id: toolCallId, name, input, signal: abortSignal }),
      }),
    ]),
  )
}

/** Maximum number of characters of one tool result: a file of 1 MB exceeds the context window. */
const MAX_SHOWN_CHARS = 24_000

/** Returns one part of a long text; `nextOffset` is the start of the next. */
export function toPart(text: string, offset: number) {
  const end = offset + MAX_SHOWN_CHARS
  return { content: text.slice(offset, end), ...(end < text.length && { nextOffset: end, totalChars: text.length }) }
}

/** Maximum length of an argument or result in an event; the model receives the full text. */
const MAX_EVENT_CHARACTERS = 4000

/** A tool call in the events of a turn; `arguments` and `result` are JSON or text, truncated if long. */
type ToolCallEvent = { name: string; arguments: string; result: string; success: boolean; durationMs: number }

export function toToolUse(
  name: string,
  input: unknown,
  output: unknown,
): Pick<ToolCallEvent, 'name' | 'arguments' | 'result'> {
  return { name, arguments: truncate(input), result: truncate(output) }
}

function truncate(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length <= MAX_EVENT_CHARACTERS ? text : `${text.slice(0, MAX_EVENT_CHARACTERS)} […]`
}
