import { join } from 'node:path'
import { Glob } from 'bun'
import { type CallExpression, type NewExpression, type Node, parseSync, Visitor } from 'oxc-parser'

export type PatternSite = { file: string; line: number }

/** `literals` holds where each pattern is used, as `/source/flags`; `dynamic` where one is made of a text, as `file:line`. */
export type Patterns = { literals: Map<string, PatternSite[]>; dynamic: string[] }

/** Reads the patterns of the code that runs in production. */
export async function findPatterns(root: string): Promise<Patterns> {
  const patterns: Patterns = { literals: new Map(), dynamic: [] }
  for (const file of new Glob('{src,web}/**/*.{ts,tsx}').scanSync(root)) {
    if (file.includes('.test.') || file.startsWith('web/dist/')) continue
    addPatterns(patterns, file, await Bun.file(join(root, file)).text())
  }
  return patterns
}

function addPatterns({ literals, dynamic }: Patterns, file: string, code: string): void {
  const toSite = (offset: number) => ({ file, line: code.slice(0, offset).split('\n').length })
  const addDynamic = ({ callee, start }: NewExpression | CallExpression) => {
    if (callee.type === 'Identifier' && callee.name === 'RegExp') dynamic.push(`${file}:${toSite(start).line}`)
  }
  const addLiteral = (node: Node) => {
    if (node.type !== 'Literal' || !('regex' in node)) return
    const name = `/${node.regex.pattern}/${node.regex.flags}`
    literals.set(name, [...(literals.get(name) ?? []), toSite(node.start)])
  }
  const visitor = { Literal: addLiteral, NewExpression: addDynamic, CallExpression: addDynamic }
  new Visitor(visitor).visit(parseSync(file, code).program)
}
