import { existsSync } from 'node:fs'
import { join } from 'node:path'

const FILE = /\.(?:ts|tsx|md|json|jsonc|txt|sql|sh|toml|yml|yaml|css|html)$/
/** Made by commands that the text tells to run. */
const MADE_LATER = /^(?:dist|data|node_modules|\.bun|web\/dist)(?:\/|$)/

/** What `markdown` names in backticks that looks like a path of this repository and is not there. */
export function findMissingPaths(markdown: string, root: string): string[] {
  const quoted = [...markdown.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '')
  return [...new Set(quoted)].filter((text) => looksLikePath(text, root) && !existsSync(join(root, text)))
}

/** A path of several parts, by its ending or by a first part that is here; `text/html` and `/api/keys` are neither. */
function looksLikePath(text: string, root: string): boolean {
  const path = text.replace(/^\.\//, '')
  if (!/^[\w.][\w./-]*$/.test(path) || MADE_LATER.test(path)) return false
  const [first = '', ...rest] = path.split('/')
  return rest.length > 0 && (FILE.test(path) || existsSync(join(root, first)))
}
