import { SECRET_NAMES } from '../registry/schemas.ts'
import type { Configuration } from './record.ts'
import type { FieldChange } from './schemas.ts'

/** Settings that only provisioning clients set. */
const HIDDEN: ReadonlySet<string> = new Set(['email', 'subscriptionId'])

/** Returns what differs between two configurations; secrets only as set, changed or removed. */
export function compareConfigurations(before: Configuration | null, after: Configuration): FieldChange[] {
  const [old, now] = [before ? toFields(before) : new Map<string, string>(), toFields(after)]
  const plain = [...new Set([...old.keys(), ...now.keys()])].flatMap((field): FieldChange[] => {
    const [from, to] = [old.get(field) ?? null, now.get(field) ?? null]
    return from === to ? [] : [{ field, before: from, after: to, isSecret: false }]
  })
  return [...plain, ...compareSecrets(before, after)]
}

function compareSecrets(before: Configuration | null, after: Configuration): FieldChange[] {
  return SECRET_NAMES.flatMap((field): FieldChange[] => {
    const [from, to] = [before?.secrets[field], after.secrets[field]]
    if (from === to) return []
    const shown = from === undefined ? 'set' : 'changed'
    return [
      { field, before: from === undefined ? null : 'set', after: to === undefined ? null : shown, isSecret: true },
    ]
  })
}

/** Returns every setting but the secrets as text, by its name. */
function toFields(configuration: Configuration): Map<string, string> {
  const { plain, secrets: _secrets, tools, ...rest } = configuration
  const { switches = {}, httpHosts = [], ...limits } = tools ?? {}
  const fields = Object.entries({
    ...rest,
    ...Object.fromEntries(Object.entries(plain).filter(([name]) => !HIDDEN.has(name))),
    ...withPrefix('tools.', { ...limits, ...(httpHosts.length > 0 && { httpHosts }) }),
    ...withPrefix('tools.', switches),
  })
  return new Map(fields.flatMap(([name, value]) => (value == null ? [] : [[name, toText(value)] as const])))
}

function withPrefix(prefix: string, values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]))
}

function toText(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value)
}

/** Longest value in a description. */
const SHOWN_CHARACTERS = 60

/** Describes changes in one sentence part: `model from a to b, telegramToken changed`. */
export function describeChanges(changes: readonly FieldChange[]): string {
  return changes.map(describeChange).join(', ')
}

function describeChange({ field, before, after, isSecret }: FieldChange): string {
  if (field === 'instructions') return 'instructions changed'
  if (isSecret || after === null) return `${field} ${after ?? 'removed'}`
  return before === null ? `${field} ${cut(after)}` : `${field} from ${cut(before)} to ${cut(after)}`
}

function cut(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : text
}
