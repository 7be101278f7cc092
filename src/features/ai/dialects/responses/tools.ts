import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import { arrayAt, isSet, objectAt, parameterError, textAt, withoutUndefined } from './fields.ts'
import { type ListedTool, listTools, toChatName } from './listed-tools.ts'

/** The parts of a chat request that concern tools, and the types of the built-in tools that were left out. */
type ChatTools = { fields: JsonObject; dropped: readonly string[] }

/** Built-in tools that clients list in every request and can work without. */
const DROPPED_TYPES = new Set([
  'namespace',
  'tool_search',
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
])

/** Name of the only argument of a custom tool, whose input is text. */
const CUSTOM_INPUT = 'input'

/**
 * Translates `tools`, `tool_choice` and `parallel_tool_calls`. A custom tool becomes a function with one text argument.
 * @throws AppError `invalid` for other built-in tools, and for a choice among tools that are not listed.
 */
export function toChatTools(request: JsonObject): ChatTools {
  // A tool that the input adds later replaces an earlier one of its name.
  const tools = new Map<string, JsonObject>()
  const dropped = new Set<string>()
  for (const listed of listTools(request)) {
    if (DROPPED_TYPES.has(listed.type)) dropped.add(listed.type)
    else {
      const tool = toChatTool(listed)
      tools.set(tool.function.name, tool)
    }
  }
  const choice = toChatChoice(request.tool_choice, [...tools.keys()])
  const allowed = choice.allowed
  const kept = [...tools].flatMap(([name, tool]) => (!allowed || allowed.has(name) ? [tool] : []))
  const parallel = request.parallel_tool_calls
  if (kept.length === 0) return { fields: {}, dropped: [...dropped] }
  const fields = withoutUndefined({
    tools: kept,
    tool_choice: choice.value,
    parallel_tool_calls: isSet(parallel) ? parallel : undefined,
  })
  return { fields, dropped: [...dropped] }
}

/** Returns the arguments of the function that replaces a custom tool. */
export function toCustomArguments(input: string): string {
  return JSON.stringify({ [CUSTOM_INPUT]: input })
}

/** Returns the input of a custom tool; the arguments as they are when the model did not follow the schema. */
export function fromCustomArguments(json: string): string {
  try {
    const parsed: unknown = JSON.parse(json)
    if (isJsonObject(parsed) && typeof parsed[CUSTOM_INPUT] === 'string') return parsed[CUSTOM_INPUT]
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  return json
}

type ChatTool = { type: 'function'; function: { name: string } & JsonObject }

function toChatTool({ tool, type, namespace, param }: ListedTool): ChatTool {
  if (type !== 'function' && type !== 'custom') {
    throw parameterError(
      `${param}.type`,
      'unsupported_value',
      `Tools of type '${type}' are not available for this model. Use function tools, or a provider that serves Responses.`,
    )
  }
  requireDirectCalls(tool, param)
  const name = toChatName(textAt(tool.name, `${param}.name`), namespace)
  const described = type === 'custom' ? toCustomFunction(tool, param) : toFunction(tool)
  return { type: 'function', function: { name, ...described } }
}

function toFunction(tool: JsonObject): JsonObject {
  return withoutUndefined({
    description: tool.description ?? undefined,
    parameters: tool.parameters ?? undefined,
    strict: tool.strict === true ? true : undefined,
  })
}

function toCustomFunction(tool: JsonObject, param: string): JsonObject {
  const grammar = toGrammar(tool.format, `${param}.format`)
  const description = typeof tool.description === 'string' ? tool.description : ''
  return {
    description: [description, grammar].filter((text) => text !== '').join('\n\n'),
    parameters: {
      type: 'object',
      properties: { [CUSTOM_INPUT]: { type: 'string', description: 'The complete input of the tool, as plain text.' } },
      required: [CUSTOM_INPUT],
      additionalProperties: false,
    },
  }
}

/** Describes the grammar of a custom tool's input to the model, because functions cannot enforce one. */
function toGrammar(format: unknown, param: string): string {
  if (!isSet(format)) return ''
  const read = objectAt(format, param)
  if (read.type === 'text') return ''
  if (read.type !== 'grammar') throw parameterError(`${param}.type`, 'invalid_value', `Unknown format in '${param}'.`)
  const syntax = textAt(read.syntax, `${param}.syntax`)
  const definition = textAt(read.definition, `${param}.definition`)
  return `\`${CUSTOM_INPUT}\` must match this ${syntax} grammar:\n${definition}`
}

/** Chat Completions cannot express tools that are loaded later or called from code that the model writes. */
function requireDirectCalls(tool: JsonObject, param: string): void {
  const callers = isSet(tool.allowed_callers) ? arrayAt(tool.allowed_callers, `${param}.allowed_callers`) : ['direct']
  const unsupported = [
    ...(tool.defer_loading === true ? ['defer_loading'] : []),
    ...(callers.includes('direct') ? [] : ['allowed_callers']),
    ...(isSet(tool.output_schema) ? ['output_schema'] : []),
  ]
  const [field] = unsupported
  if (field === undefined) return
  const message = `'${field}' is not available for this model.`
  throw parameterError(`${param}.${field}`, 'unsupported_parameter', message)
}

/** `allowed`: the names of the tools that the choice leaves, or null for all. */
type ChatChoice = { value: unknown; allowed: ReadonlySet<string> | null }

function toChatChoice(choice: unknown, names: readonly string[]): ChatChoice {
  if (!isSet(choice)) return { value: undefined, allowed: null }
  if (choice === 'none' || choice === 'auto') return { value: choice, allowed: null }
  if (choice === 'required') {
    if (names.length === 0) throw parameterError('tool_choice', 'invalid_value', NO_TOOLS)
    return { value: choice, allowed: null }
  }
  const read = objectAt(choice, 'tool_choice')
  if (read.type === 'allowed_tools') return toAllowedTools(read, names)
  const name = nameOfChosen(read, 'tool_choice', names)
  return { value: { type: 'function', function: { name } }, allowed: null }
}

const NO_TOOLS = "'tool_choice' requires a tool, but none of the listed ones is available for this model."

/** Lists only the allowed tools, which has the same effect. */
function toAllowedTools(choice: JsonObject, names: readonly string[]): ChatChoice {
  const { mode } = choice
  if (mode !== 'auto' && mode !== 'required') {
    throw parameterError('tool_choice.mode', 'invalid_value', "'tool_choice.mode' must be 'auto' or 'required'.")
  }
  const tools = arrayAt(choice.tools, 'tool_choice.tools')
  const allowed = tools.map((tool, index) => {
    const param = `tool_choice.tools[${index}]`
    return nameOfChosen(objectAt(tool, param), param, names)
  })
  if (allowed.length === 0) throw parameterError('tool_choice.tools', 'invalid_value', NO_TOOLS)
  return { value: mode, allowed: new Set(allowed) }
}

function nameOfChosen({ type, name, namespace }: JsonObject, param: string, names: readonly string[]): string {
  if (type !== 'function' && type !== 'custom') {
    throw parameterError(
      param,
      'unsupported_value',
      `Tools of type '${String(type)}' are not available for this model.`,
    )
  }
  const space = isSet(namespace) ? textAt(namespace, `${param}.namespace`) : null
  const chosen = toChatName(textAt(name, `${param}.name`), space)
  if (!names.includes(chosen))
    throw parameterError(param, 'invalid_value', `Tool choice '${chosen}' not found in 'tools'.`)
  return chosen
}
