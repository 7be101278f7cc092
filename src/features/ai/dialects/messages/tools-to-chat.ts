import type { JsonObject } from '../../../../core/json/json-object.ts'
import { invalidField, readList, readObject, readString, requireKnownFields } from './read-fields.ts'

/** Chat tools and their choice, and the built-in tools that were left out. */
type ToolsForChat = { body: JsonObject; dropped: string[] }

/** Tools that Anthropic runs itself; a request works without them. */
const SERVER_TOOLS = /^(?:web_search|web_fetch|tool_search_tool)_/
/** Fields of a tool that only change when it is sent or how its input arrives are ignored. */
const TOOL_FIELDS = [
  ...['type', 'name', 'description', 'input_schema', 'strict', 'input_examples'],
  ...['cache_control', 'defer_loading', 'eager_input_streaming'],
]
const CHOICE_FIELDS = ['type', 'name', 'disable_parallel_tool_use']

/** @throws AppError `invalid` for tools that Chat Completions cannot express. */
export function toolsToChat(request: JsonObject): ToolsForChat {
  const given = request.tools == null ? [] : readList(request.tools, 'tools')
  const tools: JsonObject[] = []
  const dropped: string[] = []
  for (const [index, value] of given.entries()) {
    const path = `tools.${index}`
    const tool = readObject(value, path)
    const type = tool.type == null ? 'custom' : readString(tool.type, `${path}.type`)
    if (type === 'custom') tools.push(toChatTool(tool, path))
    else if (SERVER_TOOLS.test(type)) dropped.push(type)
    else throw invalidField(`${path}.type`, `Tools of type '${type}' cannot be passed on to this model`)
  }
  const names = new Set(tools.map((tool) => readObject(tool.function, 'function').name))
  return { body: { ...(tools.length > 0 && { tools }), ...toChatChoice(request.tool_choice, names) }, dropped }
}

function toChatTool(tool: JsonObject, path: string): JsonObject {
  const { allowed_callers: callers, ...rest } = tool
  if (callers != null && !readList(callers, `${path}.allowed_callers`).includes('direct')) {
    throw invalidField(`${path}.allowed_callers`, 'This model can call tools only directly')
  }
  requireKnownFields(rest, TOOL_FIELDS, path)
  const { description, input_schema: parameters, input_examples: examples, strict } = tool
  const described = description == null ? [] : [readString(description, `${path}.description`)]
  const shown = examples == null ? [] : [`Examples of its input: ${JSON.stringify(examples)}`]
  const text = [...described, ...shown].join('\n\n')
  return {
    type: 'function',
    function: {
      name: readString(tool.name, `${path}.name`),
      ...(text !== '' && { description: text }),
      parameters: readObject(parameters, `${path}.input_schema`),
      ...(strict != null && { strict }),
    },
  }
}

function toChatChoice(value: unknown, names: ReadonlySet<unknown>): JsonObject {
  if (value === undefined || value === null) return {}
  const choice = readObject(value, 'tool_choice')
  requireKnownFields(choice, CHOICE_FIELDS, 'tool_choice')
  const forced = choice.type === 'any' || choice.type === 'tool'
  if (names.size === 0) {
    if (forced) throw invalidField('tool_choice', 'The chosen tool cannot be passed on to this model')
    return {}
  }
  const parallel = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}
  if (choice.type === 'auto') return { tool_choice: 'auto', ...parallel }
  if (choice.type === 'none') return { tool_choice: 'none' }
  if (choice.type === 'any') return { tool_choice: 'required', ...parallel }
  if (choice.type !== 'tool') throw invalidField('tool_choice.type', "Input should be 'auto', 'any', 'tool' or 'none'")
  const name = readString(choice.name, 'tool_choice.name')
  if (!names.has(name)) throw invalidField('tool_choice.name', `There is no tool '${name}' for this model`)
  return { tool_choice: { type: 'function', function: { name } }, ...parallel }
}
