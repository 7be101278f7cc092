import { type FlexibleSchema, type ToolSet, tool } from 'ai'
import type { z } from 'zod'

/**
 * What a use of a tool is done with. `json` is its input as an owner would be shown it; `approvalId` is that of the owner's
 * approval, null where none is needed; `sessionKey` null is a conversation that nobody keeps.
 */
export type ToolUse = { signal: AbortSignal; json: string; approvalId: string | null; sessionKey: string | null }

/**
 * One thing that a model may do. What `execute` throws goes back to the model as its result, so that it can try otherwise.
 * `needsOwner` says of an input whether the owner must approve it first.
 */
export type AgentTool = {
  description: string
  inputSchema: FlexibleSchema<unknown>
  needsOwner(input: unknown): boolean
  /** Runs before the owner is asked. @throws AppError for a use that cannot succeed, so no one approves it in vain. */
  check?(input: unknown): Promise<void>
  /** What the owner is told is asked for; its own name where that is left out. */
  askedAs?: string
  /** The platform carries it out, and uses the approval up itself. */
  isDoneByPlatform: boolean
  execute(input: unknown, use: ToolUse): Promise<unknown>
}

/** A tool whose input is parsed by `inputSchema`: what is approved, shown and done is what came out of that. */
export function defineTool<Schema extends z.ZodType>(definition: {
  description: string
  inputSchema: Schema
  /** No use of it by default. */
  needsOwner?: (input: z.infer<Schema>) => boolean
  isDoneByPlatform?: boolean
  check?: (input: z.infer<Schema>) => Promise<void>
  execute: (input: z.infer<Schema>, use: ToolUse) => Promise<unknown>
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

/** One call of a tool by the model; `id` is the model's own. */
export type ToolCallOfModel = { id: string; name: string; input: unknown; signal: AbortSignal }

/** Runs a tool: counts the use, asks the owner when needed, and executes it with the approval. */
export type Guard = (agentTool: AgentTool, call: ToolCallOfModel) => Promise<unknown>

/** The tools as the AI SDK takes them, each behind `guard`. */
export function toToolSet(tools: Readonly<Record<string, AgentTool>>, guard: Guard): ToolSet {
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
