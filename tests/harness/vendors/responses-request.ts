import { z } from 'zod'
import { parseStrictly } from './problems.ts'
import { signatureOf, type VendorDialect, VendorRefusal } from './script.ts'

const Name = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/)
const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish()
const InputText = z.strictObject({ type: z.literal('input_text'), text: z.string() })
const InputImage = z.strictObject({
  type: z.literal('input_image'),
  detail: z.enum(['auto', 'low', 'high', 'original']).optional(),
  image_url: z.string().nullish(),
  file_id: z.string().nullish(),
})
const InputFile = z.strictObject({
  type: z.literal('input_file'),
  filename: z.string().optional(),
  file_data: z.string().optional(),
  file_url: z.string().optional(),
  file_id: z.string().nullish(),
})
const OutputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.looseObject({})).optional(),
  logprobs: z.array(z.looseObject({})).optional(),
})
const Refused = z.strictObject({ type: z.literal('refusal'), refusal: z.string() })
const Given = z.discriminatedUnion('type', [InputText, InputImage, InputFile])

const FunctionTool = z.strictObject({
  type: z.literal('function'),
  name: Name,
  description: z.string().nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().optional(),
})
const CustomTool = z.strictObject({
  type: z.literal('custom'),
  name: Name,
  description: z.string().optional(),
  format: z.looseObject({ type: z.enum(['text', 'grammar']) }).optional(),
})
const Tool = z.discriminatedUnion('type', [
  FunctionTool,
  CustomTool,
  z.strictObject({
    type: z.literal('namespace'),
    name: Name,
    description: z.string(),
    tools: z.array(z.discriminatedUnion('type', [FunctionTool, CustomTool])),
  }),
  z.looseObject({ type: z.enum(['web_search', 'web_search_preview', 'file_search', 'code_interpreter', 'mcp']) }),
  z.looseObject({ type: z.enum(['local_shell', 'shell', 'apply_patch', 'image_generation', 'tool_search']) }),
])

const Said = z.discriminatedUnion('role', [
  z.strictObject({
    type: z.literal('message').optional(),
    id: z.string().optional(),
    role: z.enum(['user', 'system', 'developer']),
    content: z.union([z.string(), z.array(Given)]),
    status,
  }),
  z.strictObject({
    type: z.literal('message').optional(),
    id: z.string().optional(),
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [OutputText, Refused]))]),
    phase: z.enum(['commentary', 'final_answer']).nullish(),
    status,
  }),
])

const Other = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('function_call'),
    id: z.string().optional(),
    call_id: z.string(),
    name: Name,
    namespace: z.string().optional(),
    arguments: z.string(),
    status,
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    id: z.string().nullish(),
    call_id: z.string(),
    output: z.union([z.string(), z.array(Given)]),
    status,
  }),
  z.strictObject({
    type: z.literal('custom_tool_call'),
    id: z.string().optional(),
    call_id: z.string(),
    name: Name,
    namespace: z.string().optional(),
    input: z.string(),
    status,
  }),
  z.strictObject({
    type: z.literal('custom_tool_call_output'),
    id: z.string().nullish(),
    call_id: z.string(),
    output: z.union([z.string(), z.array(Given)]),
    status,
  }),
  z.strictObject({
    type: z.literal('additional_tools'),
    id: z.string().optional(),
    role: z.literal('developer'),
    tools: z.array(Tool),
  }),
  z.strictObject({
    type: z.literal('reasoning'),
    id: z.string().optional(),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
    content: z.array(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() })).nullish(),
    encrypted_content: z.string().nullish(),
    status,
  }),
])

const Body = z.strictObject({
  model: z.string(),
  input: z.union([z.string(), z.array(z.union([Other, Said]))]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() }).nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  include: z.array(z.string()).nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  max_tool_calls: z.int().positive().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  tools: z.array(Tool).optional(),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string() })]).optional(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z
    .strictObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      context: z.string().nullish(),
    })
    .nullish(),
  text: z
    .strictObject({
      format: z.looseObject({ type: z.enum(['text', 'json_object', 'json_schema']) }).optional(),
      verbosity: z.enum(['low', 'medium', 'high']).nullish(),
    })
    .optional(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  // Codex sends its own metadata here, which OpenAI accepts.
  client_metadata: z.record(z.string(), z.string()).nullish(),
  service_tier: z.string().nullish(),
  user: z.string().optional(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  safety_identifier: z.string().nullish(),
})

const CountBody = Body.pick({
  ...{ model: true, input: true, instructions: true, tools: true, tool_choice: true, parallel_tool_calls: true },
  ...{ reasoning: true, text: true, truncation: true, previous_response_id: true },
})

/** Validates a request to count tokens, which takes fewer fields. */
export function readInputCount(json: unknown): z.infer<typeof CountBody> {
  return parseStrictly(CountBody, json, ({ path, message, unknown }) =>
    unknown === null ? `Invalid value for '${path}': ${message}.` : `Unknown parameter: '${path}'.`,
  )
}

type Item = Exclude<z.infer<typeof Body>['input'], string>[number]

/** Validates a request as OpenAI does. */
export const readResponses: VendorDialect['read'] = (json) => {
  const body = parseStrictly(Body, json, ({ path, message, unknown }) =>
    unknown === null ? `Invalid value for '${path}': ${message}.` : `Unknown parameter: '${path}'.`,
  )
  if (body.previous_response_id)
    throw new VendorRefusal(
      400,
      `Previous response with id '${body.previous_response_id}' not found.`,
      'previous_response_not_found',
    )
  if (!body.stream && body.stream_options)
    throw new VendorRefusal(400, "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
  const items = typeof body.input === 'string' ? [] : body.input
  requireOutputs(items)
  requireOwnReasoning(items)
  const lastUser = items.findLastIndex((item) => 'role' in item && item.role === 'user')
  const later = items.flatMap((item) => (item.type === 'additional_tools' ? item.tools : []))
  return {
    body,
    tools: [...(body.tools ?? []), ...later].flatMap(namesOfTool),
    toolResults: items.slice(lastUser + 1).flatMap((item) => (isOutput(item) ? [toText(item)] : [])),
  }
}

function namesOfTool(tool: z.infer<typeof Tool>): string[] {
  if (tool.type === 'function' || tool.type === 'custom') return [String(tool.name)]
  return tool.type === 'namespace' && Array.isArray(tool.tools) ? tool.tools.map(({ name }) => String(name)) : []
}

type Output = Extract<Item, { type: 'function_call_output' | 'custom_tool_call_output' }>

function isOutput(item: Item): item is Output {
  return item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
}

function requireOutputs(items: readonly Item[]): void {
  const called = new Set<string>()
  const answered = new Set<string>()
  for (const item of items) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') called.add(item.call_id)
    if (!isOutput(item)) continue
    if (!called.has(item.call_id))
      throw new VendorRefusal(400, `No tool call found for function call output with call_id ${item.call_id}.`)
    answered.add(item.call_id)
  }
  const missing = [...called].find((id) => !answered.has(id))
  if (missing !== undefined) throw new VendorRefusal(400, `No tool output found for function call ${missing}.`)
}

/** Rejects reasoning that is not returned unchanged, so that the vendor can decrypt it. */
function requireOwnReasoning(items: readonly Item[]): void {
  for (const item of items)
    if (item.type === 'reasoning' && item.encrypted_content !== signatureOf(item.id ?? ''))
      throw new VendorRefusal(
        400,
        `The encrypted content for item ${item.id} could not be verified.`,
        'invalid_encrypted_content',
      )
}

function toText({ output }: Output): string {
  if (typeof output === 'string') return output
  return output.map((part) => (part.type === 'input_text' ? part.text : `[${part.type}]`)).join('')
}
