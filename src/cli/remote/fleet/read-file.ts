import { readFileSync } from 'node:fs'
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { errorMessage } from '../../../core/errors.ts'
import { findNearName } from '../../../core/text/names.ts'
import { UsageError } from '../../exit.ts'
import { FleetFile, type WantedAgent, type WantedFleet } from './fleet-file.ts'

type Path = readonly PropertyKey[]
type Written = { document: Document; lines: LineCounter }

/**
 * Reads a fleet file in YAML or JSON; `-` is standard input.
 * @throws UsageError naming file and line of a syntax error, an unknown key (with the closest known one) or a duplicate
 * agent.
 */
export async function readFleetFile(file: string): Promise<WantedFleet> {
  const text = file === '-' ? await Bun.stdin.text() : readText(file)
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const place = file === '-' ? 'standard input' : file
  const [error] = document.errors
  if (error) throw new UsageError(`${place}:${lines.linePos(error.pos[0]).line}: ${error.message}`)
  const parsed = FleetFile.safeParse(toPlainValue(document, place))
  const written = { document, lines }
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new UsageError(issue ? `${place}${describeIssue(written, issue)}` : `${place}: is no fleet`)
  }
  requireOnce(parsed.data.agents, (index) => `${place}${lineOf(written, ['agents', index, 'name'])}`)
  return parsed.data
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file}: cannot be read (${errorMessage(error)})`, { cause: error })
  }
}

/** Expands the document. @throws UsageError for aliases that expand exponentially. */
function toPlainValue(document: Document, place: string): unknown {
  try {
    return document.toJS()
  } catch (error) {
    throw new UsageError(`${place}: ${errorMessage(error)}`, { cause: error })
  }
}

function requireOnce(agents: readonly WantedAgent[], placeOf: (index: number) => string): void {
  const seen = new Set<string>()
  for (const [index, { id, name }] of agents.entries()) {
    const key = id ?? name.toLowerCase()
    if (seen.has(key)) throw new UsageError(`${placeOf(index)}: the agent ${name} stands there twice`)
    seen.add(key)
  }
}

function describeIssue(written: Written, issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return describeUnknown(written, issue.path, issue.keys[0] ?? '')
  // zod reports a record key at the record's own path.
  if (issue.code === 'invalid_key') {
    return describeUnknown(written, issue.path.slice(0, -1), String(issue.path.at(-1)))
  }
  const where = issue.path.map(String).join('.') || 'the document'
  return `${lineOf(written, issue.path)}: ${where}: ${issue.message}`
}

function describeUnknown(written: Written, path: Path, key: string): string {
  const known = listKeys(path)
  const near = findNearName(key, known) ?? findNearName(key.toLowerCase(), known)
  const meant = near ? `is ${near} meant?` : `it may be ${known.join(', ')}`
  return `${lineOf(written, [...path, key])}: ${key} is no key of ${path.map(String).join('.') || 'a fleet'}: ${meant}`
}

/** Returns the keys that the schema allows at `path`. */
function listKeys(path: Path): string[] {
  let schema: unknown = z.toJSONSchema(FleetFile, { io: 'input', unrepresentable: 'any' })
  for (const step of path) schema = stepInto(schema, step)
  const { properties, propertyNames } = withoutNull(schema)
  return properties ? Object.keys(properties) : (propertyNames?.enum ?? [])
}

const Schema = z.object({
  properties: z.record(z.string(), z.unknown()).optional(),
  propertyNames: z.object({ enum: z.array(z.string()).optional() }).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
})

function stepInto(schema: unknown, step: PropertyKey): unknown {
  const { properties, items } = withoutNull(schema)
  return typeof step === 'number' ? items : properties?.[String(step)]
}

/** Unwraps a nullable schema. */
function withoutNull(schema: unknown): z.infer<typeof Schema> {
  const parsed = Schema.safeParse(schema).data ?? {}
  const [first] = parsed.anyOf ?? []
  return first === undefined ? parsed : withoutNull(first)
}

/** Returns `:LINE` of the node at `path`, or of its nearest parent. */
function lineOf({ document, lines }: Written, path: Path): string {
  for (let length = path.length; length > 0; length--) {
    const offset = findOffset(document, path.slice(0, length))
    if (offset !== undefined) return `:${lines.linePos(offset).line}`
  }
  return ':1'
}

function findOffset(document: Document, path: Path): number | undefined {
  const around = path.length > 1 ? document.getIn(path.slice(0, -1), true) : document.contents
  const pair = isMap(around) && around.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))
  if (pair && isNode(pair.key)) return pair.key.range?.[0]
  const node = document.getIn(path, true)
  return isNode(node) ? node.range?.[0] : undefined
}
