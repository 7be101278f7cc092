import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { errorMessage } from '../../../../core/errors.ts'
import { UsageError } from '../../../exit.ts'

/** One changed value as shown to the user; a secret is shown as its reference. */
export type Change = { kind: 'add' | 'change' | 'remove'; field: string; before?: unknown; after?: unknown }

/** Request that makes some of the changes; `path` is below `/api/agents/ID` unless it begins with `/api`. */
export type Call = { method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; path: string; body?: Record<string, unknown> }
export type Part = { changes: readonly Change[]; calls: readonly Call[] }

export const NO_PART: Part = { changes: [], calls: [] }

/** Compares two values; null and the empty text both mean unset. */
export function toChanges(field: string, before: unknown, after: unknown): Change[] {
  const [was, will] = [toValue(before), toValue(after)]
  if (isSame(was, will)) return []
  if (was === null) return [{ kind: 'add', field, after: will }]
  if (will === null) return [{ kind: 'remove', field, before: was }]
  return [{ kind: 'change', field, before: was, after: will }]
}

function toValue(value: unknown): unknown {
  return value === '' ? null : (value ?? null)
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Shows a text that may hold a secret: its reference, or nothing at all. */
export function toShown(text: string): string {
  return hasReference(text) ? text : '(as it stands in the file)'
}

/** Pairs desired and present items by name, in order; unpaired ones are created or removed. */
export function pairByName<Wanted extends { name: string }, Present extends { name: string }>(
  wanted: readonly Wanted[],
  present: readonly Present[],
) {
  const left = [...present]
  const kept: { want: Wanted; have: Present }[] = []
  const added: Wanted[] = []
  for (const want of wanted) {
    const index = left.findIndex(({ name }) => name === want.name)
    const [have] = index === -1 ? [] : left.splice(index, 1)
    if (have) kept.push({ want, have })
    else added.push(want)
  }
  return { kept, added, removed: left }
}

export function joinParts(parts: readonly Part[]): Part {
  return { changes: parts.flatMap(({ changes }) => changes), calls: parts.flatMap(({ calls }) => calls) }
}

export function toRemoval(field: string, path: string, body?: Record<string, unknown>): Part {
  const call: Call = { method: 'DELETE', path, ...(body && { body }) }
  return { changes: [{ kind: 'remove', field }], calls: [call] }
}

export function toAddition(field: string, after: string, path: string, body: Record<string, unknown>): Part {
  return { changes: [{ kind: 'add', field, after }], calls: [{ method: 'POST', path, body }] }
}

const REFERENCE = /\$\{(env|file):([^{}]+)\}/g

/** Resolves the references in a text; `field` is for the message. @throws UsageError for a missing variable or file. */
export type LookUp = (text: string, field: string) => string

/** Paths are relative to the fleet file. */
export function createLookUp(fleetFile: string, environment: Record<string, string | undefined>): LookUp {
  const folder = fleetFile === '-' ? process.cwd() : dirname(resolve(fleetFile))
  return (text, field) =>
    text.replace(REFERENCE, (_, kind: string, name: string) => {
      const value = kind === 'env' ? environment[name] : readLine(resolve(folder, name), field)
      if (value) return value
      throw new UsageError(`${field}: ${name} is ${kind === 'env' ? 'not set' : 'empty'}`)
    })
}

export function listReferences(text: string): string[] {
  return text.match(REFERENCE) ?? []
}

export function hasReference(text: string): boolean {
  return text.search(REFERENCE) !== -1
}

function readLine(path: string, field: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new UsageError(`${field}: ${path} cannot be read (${errorMessage(error)})`, { cause: error })
  }
}
