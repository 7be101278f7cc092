import { hasReference } from '../references.ts'

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

export function join(parts: readonly Part[]): Part {
  return { changes: parts.flatMap(({ changes }) => changes), calls: parts.flatMap(({ calls }) => calls) }
}

export function toRemoval(field: string, path: string, body?: Record<string, unknown>): Part {
  const call: Call = { method: 'DELETE', path, ...(body && { body }) }
  return { changes: [{ kind: 'remove', field }], calls: [call] }
}

export function toAddition(field: string, after: string, path: string, body: Record<string, unknown>): Part {
  return { changes: [{ kind: 'add', field, after }], calls: [{ method: 'POST', path, body }] }
}
