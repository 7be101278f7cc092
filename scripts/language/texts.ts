import { parseSync } from 'oxc-parser'

/** A text for people with the line it starts on. `isProse` texts are also checked for sentences without a subject. */
export type Text = { line: number; text: string; isProse: boolean }

const TEST_FUNCTIONS = new Set(['test', 'describe', 'it'])

/** Returns the comments, test titles and JSX texts of a TypeScript module, and the names it declares. */
export function readModule(file: string, source: string): { texts: Text[]; names: Text[] } {
  const { program, comments } = parseSync(file, source)
  const lineOf = toLineOf(source)
  const texts = comments.map(({ value, start }) => ({ line: lineOf(start), text: cleanComment(value), isProse: true }))
  const names: Text[] = []
  visit(program, (node) => {
    const title = titleOf(node)
    if (title) texts.push({ line: lineOf(title.start), text: title.text, isProse: true })
    if (node.type === 'JSXText' && typeof node.value === 'string' && node.value.trim() !== '')
      texts.push({ line: lineOf(node.start), text: node.value.trim(), isProse: true })
    const name = declaredName(node)
    if (name) names.push({ line: lineOf(name.start), text: name.text, isProse: false })
  })
  return { texts, names }
}

/** Returns the prose of a Markdown document: code blocks, code spans and link targets are left out. */
export function readMarkdown(source: string): Text[] {
  let isCode = false
  return source.split('\n').flatMap((line, index) => {
    if (line.trimStart().startsWith('```')) isCode = !isCode
    else if (!isCode) {
      const text = line.replace(/`[^`]*`/g, '').replace(/\]\([^)]*\)/g, ']')
      if (text.trim() !== '') return [{ line: index + 1, text: text.trim(), isProse: true }]
    }
    return []
  })
}

/** Splits a camelCase, PascalCase, SNAKE_CASE or kebab-case name into lower-case words. */
export function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[\s_.-]+/)
    .map((word) => word.toLowerCase())
}

/** Splits prose into sentences, without list markers and quotes around them. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.:!?])\s+/)
    .map((sentence) => sentence.replace(/^[-*>#|\s"'(]+/, ''))
    .filter((sentence) => sentence !== '')
}

type Node = { type: string; start: number; value?: unknown; [key: string]: unknown }

function visit(value: unknown, look: (node: Node) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const child of value) visit(child, look)
    return
  }
  if ('type' in value && typeof value.type === 'string') look(value as Node)
  for (const child of Object.values(value)) visit(child, look)
}

function titleOf(node: Node): { text: string; start: number } | null {
  if (node.type !== 'CallExpression' || !TEST_FUNCTIONS.has(rootName(node.callee as Node) ?? '')) return null
  const [first] = node.arguments as Node[]
  return first?.type === 'Literal' && typeof first.value === 'string' ? { text: first.value, start: first.start } : null
}

/** `test` of `test.skipIf(x).each([…])`. */
function rootName(node: Node): string | null {
  if (node.type === 'Identifier') return node.name as string
  if (node.type === 'MemberExpression') return rootName(node.object as Node)
  return node.type === 'CallExpression' ? rootName(node.callee as Node) : null
}

const DECLARATIONS = new Set([
  'FunctionDeclaration',
  'VariableDeclarator',
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
  'ClassDeclaration',
])

function declaredName(node: Node): { text: string; start: number } | null {
  if (!DECLARATIONS.has(node.type)) return null
  const id = node.id as Node | null
  return id?.type === 'Identifier' ? { text: id.name as string, start: id.start } : null
}

function cleanComment(value: string): string {
  return value
    .split('\n')
    .map((line) => line.replace(/^[\s*]+/, ''))
    .join(' ')
    .replace(/`[^`]*`/g, '`code`')
    .trim()
}

function toLineOf(source: string): (offset: number) => number {
  const starts = [0]
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return low + 1
  }
}
