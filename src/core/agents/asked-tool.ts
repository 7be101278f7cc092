import { sha256 } from '../secrets.ts'

const MAX_CHARACTERS = 200
const KEPT_CHARACTERS = 150

/** Returns the name of an MCP server's tool in a question to the owner; a long one ends with its hash, so that no two are alike. */
export function toAskedTool(server: string, tool: string): string {
  const name = `${server}/${tool}`
  if (name.length <= MAX_CHARACTERS) return name
  return `${name.slice(0, KEPT_CHARACTERS)}… ${sha256(name).slice(0, 32)}`
}
