import { existsSync } from 'node:fs'
import { join } from 'node:path'

const FILE = /\.(?:ts|tsx|md|json|jsonc|txt|sql|sh|toml|yml|yaml|css|html)$/
/** Paths that commands create. */
const MADE_LATER = /^(?:dist|data|node_modules|\.bun|web\/dist)(?:\/|$)/

/** Returns the code spans of `markdown` that look like a path of this repository and do not exist. */
export function findMissingPaths(markdown: string, root: string): string[] {
  const quoted = [...markdown.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '')
  return [...new Set(quoted)].filter((text) => looksLikePath(text, root) && !existsSync(join(root, text)))
}

/** Recognizes a path by its extension or by an existing first folder; `text/html` and `/api/keys` are no paths. */
function looksLikePath(text: string, root: string): boolean {
  const path = text.replace(/^\.\//, '')
  if (!/^[\w.][\w./-]*$/.test(path) || MADE_LATER.test(path)) return false
  const [first = '', ...rest] = path.split('/')
  return rest.length > 0 && (FILE.test(path) || existsSync(join(root, first)))
}
