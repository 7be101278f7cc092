import { PREMIUM_MODEL } from '../../../accounts/plans/plans.ts'
import { BUILT_IN_MODELS, type BuiltInModel } from './prices.ts'

/** Names under which clients know a model whose own name differs. */
const ALIASES: Readonly<Record<string, string>> = {
  'claude-opus-4-6': PREMIUM_MODEL,
  'google/gemini-2.0-flash': 'google/gemini-2.0-flash-001',
  'minimax/minimax-chat': 'minimax/minimax-m2.7',
}

/** Vendors whose own API takes a model without the vendor's name; their model wins over others of the same bare name. */
const BARE_VENDORS = ['openai', 'anthropic', 'google']

/** Finds the id of a model by another spelling: without its vendor, with dashes for dots, or with the date of a snapshot. */
export type NameIndex = ReadonlyMap<string, string>

/** Indexes ids by their spellings. A bare name that several models share is theirs only when a vendor of `BARE_VENDORS` has it. */
export function indexNames(ids: Iterable<string>): NameIndex {
  const whole = new Map<string, string>()
  const bare = new Map<string, string | null>()
  for (const id of ids) {
    if (whole.has(toSpelling(id))) continue
    whole.set(toSpelling(id), id)
    const name = toSpelling(id.slice(id.indexOf('/') + 1))
    const known = bare.get(name)
    if (known === undefined || rankOf(id) < rankOf(known)) bare.set(name, id)
    else if (known === null || rankOf(id) === rankOf(known)) bare.set(name, null)
  }
  const found = new Map([...bare].flatMap(([name, id]) => (id === null ? [] : [[name, id] as const])))
  return new Map([...found, ...whole])
}

/** Returns the id that `name` spells, by an alias or by the index; null when there is none. */
export function findSpelled(index: NameIndex, name: string): string | null {
  const alias = ALIASES[name]
  const spelling = toSpelling(alias ?? name)
  return index.get(spelling) ?? index.get(spelling.replace(/-(?:\d{8}|latest)$/, '')) ?? null
}

const builtInNames = indexNames(BUILT_IN_MODELS.keys())

/** Returns the ids that a name in a list of models includes: the exact one, then the published model that it spells. */
export function toIds(name: string): string[] {
  const spelled = ALIASES[name] ?? findSpelled(builtInNames, name)
  return spelled === null || spelled === name ? [name] : [name, spelled]
}

/** Returns the published model that `name` means, or null. */
export function findBuiltIn(name: string): BuiltInModel | null {
  return BUILT_IN_MODELS.get(name) ?? BUILT_IN_MODELS.get(findSpelled(builtInNames, name) ?? '') ?? null
}

function rankOf(id: string | null): number {
  const rank = BARE_VENDORS.indexOf(id?.slice(0, id.indexOf('/')) ?? '')
  return rank === -1 ? BARE_VENDORS.length : rank
}

function toSpelling(id: string): string {
  return id.toLowerCase().replaceAll('.', '-')
}
