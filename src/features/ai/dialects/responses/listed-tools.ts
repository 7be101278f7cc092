import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import { arrayAt, isSet, objectAt, textAt } from './fields.ts'

/** A tool of a request, and the namespace that contains it. */
export type ListedTool = { tool: JsonObject; type: string; namespace: string | null; param: string }

/** A tool as the caller knows it. */
export type CalledTool = { name: string; namespace: string | null; isCustom: boolean }

/**
 * Lists the tools of `tools` and those that the input adds. The input's namespaces are expanded, because they may contain
 * all tools that a client has. @throws AppError `invalid`
 */
export function listTools(request: JsonObject): ListedTool[] {
  return [...readTools(request.tools, 'tools'), ...listAddedTools(request.input)]
}

function listAddedTools(input: unknown): ListedTool[] {
  if (!Array.isArray(input)) return []
  return input.flatMap((item, index) => {
    if (!isJsonObject(item) || item.type !== 'additional_tools') return []
    return readTools(item.tools, `input[${index}].tools`).flatMap(expand)
  })
}

function expand(listed: ListedTool): ListedTool[] {
  const { tool, type, param } = listed
  if (type !== 'namespace') return [listed]
  const namespace = textAt(tool.name, `${param}.name`)
  return readTools(tool.tools, `${param}.tools`).map((contained, index) => ({
    ...contained,
    tool: index === 0 ? withDescription(contained.tool, tool.description) : contained.tool,
    namespace,
  }))
}

/** The first tool introduces the others of its namespace. */
function withDescription(tool: JsonObject, introduction: unknown): JsonObject {
  const texts = [introduction, tool.description].filter((text) => typeof text === 'string' && text !== '')
  return texts.length === 0 ? tool : { ...tool, description: texts.join('\n\n') }
}

function readTools(value: unknown, path: string): ListedTool[] {
  if (!isSet(value)) return []
  return arrayAt(value, path).map((item, index) => {
    const param = `${path}[${index}]`
    const tool = objectAt(item, param)
    return { tool, type: textAt(tool.type, `${param}.type`), namespace: null, param }
  })
}

/** The longest name that providers of Chat Completions accept. */
const MAX_NAME = 64
const HASH_CHARACTERS = 8

/** Returns the name of a tool in Chat Completions, which has no namespaces. Long names end with a hash. */
export function toChatName(name: string, namespace: string | null): string {
  const joined = namespace === null ? name : `${namespace}__${name}`
  if (namespace === null || joined.length <= MAX_NAME) return joined
  const hash = Bun.hash(joined).toString(16).padStart(16, '0').slice(-HASH_CHARACTERS)
  return `${joined.slice(0, MAX_NAME - HASH_CHARACTERS - 1)}_${hash}`
}

/** Returns the tools of a request by their names in Chat Completions. */
export function readCalledTools(request: JsonObject): ReadonlyMap<string, CalledTool> {
  return new Map(
    listTools(request).flatMap(({ tool, type, namespace }) => {
      if (typeof tool.name !== 'string') return []
      const called = { name: tool.name, namespace, isCustom: type === 'custom' }
      return [[toChatName(tool.name, namespace), called] as const]
    }),
  )
}
