import { parseSync, Visitor } from 'oxc-parser'

type Scope = { start: number } | null
type Named = { name: string; scopes: readonly Scope[] }
type Made = Named & { kind: 'variable' | 'property' }

const COLLECTIONS = new Set(['Map', 'Set'])
const ADDING = new Set(['set', 'add'])

/**
 * Finds maps and sets in `code` that outlive the call that creates them: those of a module or class, and those of a
 * function that inner functions add to or pass on.
 * @returns their names, such as `waiting`.
 */
export function findLongLivedMaps(file: string, code: string): string[] {
  const { made, added } = collect(file, code)
  const outlives = ({ name, scopes, kind }: Made) => {
    if (kind === 'property') return true
    const own = scopes.at(-1) ?? null
    return added.some((use) => use.name === name && use.scopes.at(-1) !== own && use.scopes.includes(own))
  }
  return made.filter(outlives).map(({ name }) => name)
}

/** Collections that are created, changed or passed on, each with its enclosing functions. */
function collect(file: string, code: string): { made: Made[]; added: Named[] } {
  const scopes: Scope[] = [null]
  const made: Made[] = []
  const added: Named[] = []
  const enter = (node: { start: number }) => void scopes.push(node)
  const leave = () => void scopes.pop()
  const note = (name: string) => added.push({ name, scopes: [...scopes] })
  const visitor = new Visitor({
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && isCollection(init))
        made.push({ name: id.name, scopes: [...scopes], kind: 'variable' })
    },
    PropertyDefinition({ key, value }) {
      if ('name' in key && isCollection(value))
        made.push({ name: String(key.name), scopes: [...scopes], kind: 'property' })
    },
    CallExpression({ callee, arguments: given }) {
      for (const argument of given) if (argument.type === 'Identifier') note(argument.name)
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      if (ADDING.has(callee.property.name) && callee.object.type === 'Identifier') note(callee.object.name)
    },
  })
  visitor.visit(parseSync(file, code).program)
  return { made, added }
}

function isCollection(node: { type: string } | null): boolean {
  if (node?.type !== 'NewExpression' || !('callee' in node)) return false
  const { callee } = node as { callee: { type: string; name?: string } }
  return callee.type === 'Identifier' && COLLECTIONS.has(callee.name ?? '')
}
