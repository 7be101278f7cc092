import { isToolName, type ToolName } from '../../core/agents/agent-tools.ts'
import { toVisible } from '../../core/text/visible-text.ts'

/** Tools that can ask for approval; an MCP tool is `server/tool`. */
const SENTENCES: Partial<Record<ToolName, string>> = {
  write_file: 'May I write this file?',
  patch_file: 'May I change this file?',
  move_file: 'May I move this file?',
  delete_file: 'May I delete this file?',
  send_message: 'May I send this message?',
  http_request: 'May I send this HTTP request?',
  paid_request: 'May I pay for this request?',
  run_shell: 'May I run this command?',
  run_python: 'May I run this Python program?',
}
const MAX_TOOL_CHARS = 100
const INDENT = '  '

/** Returns the question as a sentence, such as `May I delete this file?`. */
export function toSentence(tool: string): string {
  const known = isToolName(tool) ? SENTENCES[tool] : undefined
  if (known) return known
  const name = toVisible(tool).slice(0, MAX_TOOL_CHARS)
  const [server, ...rest] = name.split('/')
  return rest.length > 0 ? `May I use ${rest.join('/')} of the MCP server ${server}?` : `May I use ${name}?`
}

/**
 * Returns every argument of the call as lines of `name: value`, complete and in order. Further lines of a value are
 * indented, so no value can pass for another argument; characters that cannot be seen are shown as escapes.
 */
export function toArgumentLines(json: string): string {
  const input: unknown = JSON.parse(json)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return toVisible(json)
  const entries = Object.entries(input)
  if (entries.length === 0) return 'No arguments.'
  return entries.map(([name, value]) => toLine(toKey(name), value)).join('\n')
}

/** A name that could be misread is quoted. */
function toKey(name: string): string {
  return /^\w+$/.test(name) ? name : toVisible(JSON.stringify(name))
}

function toLine(name: string, value: unknown): string {
  if (typeof value !== 'string') return `${name}: ${toVisible(JSON.stringify(value))}`
  const lines = value.split('\n').map(toVisible)
  // Quotes show what would be lost at the ends, or taken for a value that is no text.
  if (lines.length === 1) return `${name}: ${isPlain(value) ? lines[0] : toVisible(JSON.stringify(value))}`
  return [`${name}:`, ...lines.map((line) => `${INDENT}${line}`)].join('\n')
}

function isPlain(value: string): boolean {
  return value !== '' && value.trim() === value && !/^(?:["[{]|(?:true|false|null)$|-?\d+(?:\.\d+)?$)/.test(value)
}
