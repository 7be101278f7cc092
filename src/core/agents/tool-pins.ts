import { sha256 } from '../secrets.ts'
import type { McpTool, ToolPins } from './mcp.ts'

/** Limits the names that a server can make us remember. */
const MAX_PINS = 500

/** Returns a hash of the description and schema that a model reads, and of the read-only mark; key order is ignored. */
export function fingerprintOf({ description, inputSchema, isReadOnly }: Omit<McpTool, 'name'>): string {
  return sha256(JSON.stringify([description, sortKeys(inputSchema), isReadOnly]))
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, sortKeys(each)]))
}

/** Returns whether the tool differs from its accepted description, or is one name too many to remember. */
export function isChangedTool(pins: ToolPins, tool: McpTool): boolean {
  const pin = Object.hasOwn(pins, tool.name) ? pins[tool.name] : undefined
  return pin === undefined ? Object.keys(pins).length >= MAX_PINS : pin !== fingerprintOf(tool)
}

export function toPins(tools: readonly McpTool[]): ToolPins {
  return Object.fromEntries(tools.map((tool) => [tool.name, fingerprintOf(tool)]))
}

/** Returns the pins of tools that were never listed before; null when there are none. */
export function findNewPins(pins: ToolPins, listed: ToolPins): ToolPins | null {
  const unknown = Object.entries(listed).filter(([name]) => !Object.hasOwn(pins, name))
  const added = unknown.slice(0, Math.max(0, MAX_PINS - Object.keys(pins).length))
  return added.length === 0 ? null : Object.fromEntries(added)
}
