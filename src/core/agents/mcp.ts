import { z } from 'zod'

/** Maximum number of tools per server. */
export const MAX_TOOLS = 100
const MAX_DESCRIPTION_CHARACTERS = 1000
const MAX_SCHEMA_CHARACTERS = 20_000
const MAX_RESULT_CHARACTERS = 200_000

/**
 * A tool as its server describes it, truncated; `inputSchema` is a JSON Schema of an object. `isReadOnly` is the
 * server's `readOnlyHint` (MCP 2025-06-18, tool annotations).
 */
export const McpTool = z.object({
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  isReadOnly: z.boolean().default(false),
})
export type McpTool = z.infer<typeof McpTool>

/** The result of a tool as text; other content is replaced by its type. */
export const McpResult = z.object({ text: z.string(), isError: z.boolean() })
export type McpResult = z.infer<typeof McpResult>

/** Tools that need no approval; null means those that the server marks as read-only. */
const TrustedTools = z.array(z.string()).nullable()

/** Returns whether the tool needs no approval. */
export function isTrustedTool(
  trustedTools: readonly string[] | null,
  tool: Pick<McpTool, 'name' | 'isReadOnly'>,
): boolean {
  return trustedTools === null ? tool.isReadOnly : trustedTools.includes(tool.name)
}

/** Fingerprints of the accepted descriptions of tools, by name. */
export const ToolPins = z.record(z.string(), z.string())
export type ToolPins = z.infer<typeof ToolPins>

/** An MCP server that the agent starts itself. */
const McpCommand = z.object({
  name: z.string(),
  command: z.string(),
  args: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
  allowedTools: z.array(z.string()).nullable(),
  trustedTools: TrustedTools,
  toolPins: ToolPins.default({}),
  enabled: z.boolean(),
})
export type McpCommand = z.infer<typeof McpCommand>
export const McpCommands = z.object({ servers: z.array(McpCommand) })
export type McpCommands = z.infer<typeof McpCommands>

type Described = {
  name: string
  description?: string | undefined
  inputSchema: unknown
  annotations?: { readOnlyHint?: boolean | undefined } | undefined
}

/** Converts and truncates the tool list of a server. */
export function toMcpTools(tools: readonly Described[]): McpTool[] {
  return tools.slice(0, MAX_TOOLS).map(({ name, description = '', inputSchema, annotations }) => ({
    name: name.slice(0, MAX_DESCRIPTION_CHARACTERS),
    description: description.slice(0, MAX_DESCRIPTION_CHARACTERS),
    inputSchema: toSchema(inputSchema),
    isReadOnly: annotations?.readOnlyHint === true,
  }))
}

type Said = { content: readonly ({ type: string } & Record<string, unknown>)[]; isError?: boolean | undefined }

/** Converts and truncates the result of a tool. */
export function toMcpResult({ content, isError }: Said): McpResult {
  const parts = content.map((part) => (typeof part.text === 'string' ? part.text : `[${part.type}]`))
  return { text: parts.join('\n').slice(0, MAX_RESULT_CHARACTERS), isError: isError === true }
}

const Schema = z.looseObject({ type: z.literal('object') })

/** Replaces an invalid or very large schema by one that accepts any object; the server validates the input. */
function toSchema(schema: unknown): Record<string, unknown> {
  const parsed = Schema.safeParse(schema)
  if (!parsed.success || JSON.stringify(parsed.data).length > MAX_SCHEMA_CHARACTERS) return { type: 'object' }
  return parsed.data
}
