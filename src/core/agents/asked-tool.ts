import { sha256 } from '../secrets.ts'

const MAX_CHARACTERS = 200
const KEPT_CHARACTERS = 150

/** Returns the name of an MCP tool for an approval request; long names end with a hash to stay unique. */
export function toAskedTool(server: string, tool: string): string {
  const name = `${server}/${tool}`
  if (name.length <= MAX_CHARACTERS) return name
  return `${name.slice(0, KEPT_CHARACTERS)}… ${sha256(name).slice(0, 32)}`
}
