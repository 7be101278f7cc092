import { z } from 'zod'
import { parseStrictly } from './problems.ts'
import { signatureOf, type VendorDialect, VendorRefusal } from './script.ts'

const cache_control = z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() }).nullish()
const Text = z.strictObject({
  type: z.literal('text'),
  text: z.string().min(1),
  cache_control,
  citations: z.array(z.looseObject({})).nullish(),
})
const Image = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: z.base64(),
    }),
    z.strictObject({ type: z.literal('url'), url: z.url() }),
  ]),
  cache_control,
})
const Document = z.strictObject({
  type: z.literal('document'),
  source: z.looseObject({ type: z.enum(['base64', 'text', 'url', 'content']) }),
  title: z.string().nullish(),
  context: z.string().nullish(),
  citations: z.looseObject({}).nullish(),
  cache_control,
})
const Thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() })
const Redacted = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() })
const ToolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  name: z.string().min(1).max(200),
  input: z.record(z.string(), z.unknown()),
  caller: z.looseObject({}).optional(),
  cache_control,
})
const Reference = z.strictObject({ type: z.literal('tool_reference'), tool_name: z.string(), cache_control })
const ToolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.discriminatedUnion('type', [Text, Image, Document, Reference]))]).optional(),
  is_error: z.boolean().optional(),
  cache_control,
})
const Block = z.discriminatedUnion('type', [Text, Image, Document, Thinking, Redacted, ToolUse, ToolResult])
const Effort = z.enum(['low', 'medium', 'high', 'xhigh', 'max'])

const Message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['user', 'assistant']), content: z.union([z.string().min(1), z.array(Block)]) }),
  z.strictObject({
    role: z.literal('system'),
    content: z.union([z.string().min(1), z.array(Text)]),
    output_config: z.strictObject({ effort: Effort.nullish() }).nullish(),
  }),
])

const Tool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
  description: z.string().optional(),
  input_schema: z.looseObject({ type: z.literal('object') }),
  strict: z.boolean().optional(),
  defer_loading: z.boolean().optional(),
  eager_input_streaming: z.boolean().nullish(),
  input_examples: z.array(z.looseObject({})).optional(),
  cache_control,
})
/** Tools that Anthropic runs itself. */
const ServerTool = z.looseObject({
  type: z.string().regex(/^(?:web_search|web_fetch|code_execution)_\d{8}$/),
  name: z.string(),
  max_uses: z.int().positive().nullish(),
})
const isParallelOff = z.boolean().optional()

const COUNTED = {
  model: z.string(),
  messages: z.array(Message).min(1),
  system: z.union([z.string(), z.array(Text)]).optional(),
  thinking: z
    .discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('enabled'),
        budget_tokens: z.int().min(1024),
        display: z.enum(['summarized', 'omitted']).nullish(),
      }),
      z.strictObject({ type: z.literal('adaptive'), display: z.enum(['summarized', 'omitted']).nullish() }),
      z.strictObject({ type: z.literal('disabled') }),
    ])
    .optional(),
  tools: z.array(z.union([Tool, ServerTool])).optional(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.enum(['auto', 'any']), disable_parallel_tool_use: isParallelOff }),
      z.strictObject({ type: z.literal('tool'), name: z.string(), disable_parallel_tool_use: isParallelOff }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  output_config: z
    .strictObject({ effort: Effort.nullish(), format: z.looseObject({ type: z.literal('json_schema') }).nullish() })
    .optional(),
  context_management: z.strictObject({ edits: z.array(z.looseObject({ type: z.string() })).optional() }).nullish(),
  cache_control,
}
const CountBody = z.strictObject(COUNTED)
const Body = z.strictObject({
  ...COUNTED,
  max_tokens: z.int().min(1),
  stream: z.boolean().optional(),
  stop_sequences: z.array(z.string().min(1)).optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().min(0).optional(),
  metadata: z.strictObject({ user_id: z.string().nullish() }).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
})

type Counted = z.infer<typeof CountBody>
type MessageIn = Counted['messages'][number]
type BlockIn = z.infer<typeof Block>

/** Validates a request as Anthropic does. */
export const readMessages: VendorDialect['read'] = (json, headers) => {
  const body = parse(Body, json)
  requireMessagesRules(body, headers)
  const { thinking } = body
  if (thinking?.type === 'enabled' && thinking.budget_tokens >= body.max_tokens)
    throw refuse('`max_tokens` must be greater than `thinking.budget_tokens`.')
  const results = blocksOf(body.messages.findLast(({ role }) => role === 'user'))
  return {
    body,
    tools: (body.tools ?? []).map(({ name }) => name),
    toolResults: results.flatMap((block) => (block.type === 'tool_result' ? [resultText(block)] : [])),
  }
}

/** Validates a request to count tokens. */
export function readTokenCount(json: unknown, headers: Readonly<Record<string, string>>): Counted {
  const body = parse(CountBody, json)
  requireMessagesRules(body, headers)
  return body
}

function parse<T>(schema: z.ZodType<T>, json: unknown): T {
  return parseStrictly(schema, json, ({ path, message, unknown }) =>
    unknown === null ? `${path}: ${message}` : `${path}: Extra inputs are not permitted`,
  )
}

function requireMessagesRules(body: Counted, headers: Readonly<Record<string, string>>): void {
  if (!headers['anthropic-version']) throw refuse('anthropic-version: header is required')
  const betas = headers['anthropic-beta'] ?? ''
  if (body.context_management && !betas.includes('context-management'))
    throw refuse('context_management: Extra inputs are not permitted')
  const hasTurnControl = body.messages.some((said) => said.role === 'system' && said.output_config)
  if (hasTurnControl && !betas.includes('per-turn-control'))
    throw refuse('messages.output_config: Extra inputs are not permitted')
  if (body.messages[0]?.role !== 'user') throw refuse('messages: first message must use the "user" role')
  if (!body.tools?.length && body.tool_choice) throw refuse('tool_choice: may only be specified while providing tools')
  const breakpoints = JSON.stringify(body).split('"cache_control":{').length - 1
  if (breakpoints > 4) throw refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${breakpoints}.`)
  requireResults(body.messages)
  requireOwnThoughts(body.messages)
}

/** Rejects a tool use whose result is not at the start of the next message. */
function requireResults(messages: readonly MessageIn[]): void {
  const turns = messages.filter(({ role }) => role !== 'system')
  for (const [index, said] of turns.entries()) {
    const called = blocksOf(turns[index - 1]).flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
    const given = blocksOf(said).flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []))
    const foreign = given.find((id) => !called.includes(id))
    if (foreign !== undefined)
      throw refuse(`messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${foreign}`)
    const missing = called.filter((id) => !given.includes(id))
    if (missing.length > 0)
      throw refuse(
        `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}`,
      )
  }
  if (blocksOf(turns.at(-1)).some(({ type }) => type === 'tool_use'))
    throw refuse('messages: `tool_use` ids were found without `tool_result` blocks immediately after')
}

function requireOwnThoughts(messages: readonly MessageIn[]): void {
  for (const block of messages.flatMap(blocksOf))
    if (block.type === 'thinking' && block.signature !== signatureOf(block.thinking))
      throw refuse('messages: Invalid `signature` in `thinking` block')
}

function blocksOf(said: MessageIn | undefined): readonly BlockIn[] {
  return said && typeof said.content !== 'string' ? said.content : []
}

function resultText({ content = '' }: Extract<BlockIn, { type: 'tool_result' }>): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('')
}

function refuse(message: string): VendorRefusal {
  return new VendorRefusal(400, message)
}
