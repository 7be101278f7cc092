import { z } from 'zod'
import { parseStrictly } from './problems.ts'
import { type VendorDialect, VendorRefusal } from './script.ts'

const Name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/)
const Text = z.strictObject({ type: z.literal('text'), text: z.string() })
const Image = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({
    url: z.string().regex(/^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,)/),
    detail: z.enum(['auto', 'low', 'high', 'original']).optional(),
  }),
})
const File = z.strictObject({
  type: z.literal('file'),
  file: z.strictObject({
    filename: z.string().optional(),
    file_data: z.string().optional(),
    file_id: z.string().optional(),
  }),
})
const Refused = z.strictObject({ type: z.literal('refusal'), refusal: z.string() })
const Texts = z.union([z.string(), z.array(Text).min(1)])

const ToolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.strictObject({ name: Name, arguments: z.string() }),
})

const Message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer']), content: Texts, name: z.string().optional() }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [Text, Image, File])).min(1)]),
    name: z.string().optional(),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [Text, Refused])).min(1)]).nullish(),
    refusal: z.string().nullish(),
    name: z.string().optional(),
    // Other vendors of reasoning models accept their own reasoning.
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(ToolCall).min(1).optional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: Texts, tool_call_id: z.string() }),
])

const Tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: Name,
    description: z.string().optional(),
    parameters: z.looseObject({ type: z.literal('object').optional() }).optional(),
    strict: z.boolean().nullish(),
  }),
})

const Body = z.strictObject({
  model: z.string(),
  messages: z.array(Message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().optional(), include_obfuscation: z.boolean().optional() })
    .nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  logprobs: z.boolean().nullish(),
  n: z.int().min(1).max(128).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  seed: z.int().nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  tools: z.array(Tool).min(1).optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: Name }) }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  response_format: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json_object') }),
      z.strictObject({
        type: z.literal('json_schema'),
        json_schema: z.strictObject({
          name: Name,
          description: z.string().optional(),
          schema: z.looseObject({}).optional(),
          strict: z.boolean().nullish(),
        }),
      }),
    ])
    .optional(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  verbosity: z.enum(['low', 'medium', 'high']).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  service_tier: z.string().nullish(),
  store: z.boolean().nullish(),
  user: z.string().optional(),
  prompt_cache_key: z.string().nullish(),
  safety_identifier: z.string().nullish(),
})

type ChatBody = z.infer<typeof Body>
type ChatMessage = ChatBody['messages'][number]

/** Validates a request as OpenAI does. */
export const readChat: VendorDialect['read'] = (json) => {
  const body = parseStrictly(Body, json, ({ path, message, unknown }) =>
    unknown === null ? `Invalid value for '${path}': ${message}.` : `Unrecognized request argument supplied: ${path}`,
  )
  requireConsistency(body)
  requireAnsweredCalls(body.messages)
  const lastUser = body.messages.findLastIndex(({ role }) => role === 'user')
  return {
    body,
    tools: (body.tools ?? []).map((tool) => tool.function.name),
    toolResults: body.messages.slice(lastUser + 1).flatMap((said) => (said.role === 'tool' ? [toText(said)] : [])),
  }
}

function requireConsistency({ tools, tool_choice, parallel_tool_calls, stream, stream_options, messages }: ChatBody) {
  if (!tools && tool_choice) throw refuse("'tool_choice' is only allowed when 'tools' are specified.")
  if (!tools && parallel_tool_calls !== undefined)
    throw refuse("'parallel_tool_calls' is only allowed when 'tools' are specified.")
  if (!stream && stream_options)
    throw refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
  for (const said of messages) {
    const isEmpty = said.role === 'assistant' && said.content == null && !said.tool_calls && !said.refusal
    if (isEmpty) throw refuse("Invalid value for 'content': expected a string, got null.")
  }
}

/** Rejects tool calls whose results do not follow them. */
function requireAnsweredCalls(messages: readonly ChatMessage[]): void {
  let open = new Set<string>()
  for (const said of messages) {
    if (said.role === 'tool') {
      if (!open.delete(said.tool_call_id))
        throw refuse("messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
      continue
    }
    requireNone(open)
    open = new Set(said.role === 'assistant' ? said.tool_calls?.map(({ id }) => id) : [])
  }
  requireNone(open)
}

function requireNone(open: ReadonlySet<string>): void {
  if (open.size === 0) return
  throw refuse(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
  )
}

function toText({ content }: Extract<ChatMessage, { role: 'tool' }>): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}

function refuse(message: string): VendorRefusal {
  return new VendorRefusal(400, message)
}
