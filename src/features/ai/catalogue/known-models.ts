import type { TokenPrice } from '../../../core/money.ts'
import { PREMIUM_MODEL } from '../../accounts/plans/plans.ts'
import table from './prices.tsv' with { type: 'text' }

/** A published model; `contextLength` is in tokens, null when unknown. */
type BuiltInModel = { price: TokenPrice; contextLength: number | null }

/** Models by id as published on 2026-08-21, used where no provider lists newer facts. */
export const BUILT_IN_MODELS: ReadonlyMap<string, BuiltInModel> = new Map(
  table
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [id = '', input, output, cached, contextLength] = line.split('\t')
      const price = {
        inputUsdPerMillion: Number(input),
        outputUsdPerMillion: Number(output),
        ...(cached && { cachedInputUsdPerMillion: Number(cached) }),
      }
      return [id, { price, contextLength: contextLength ? Number(contextLength) : null }]
    }),
)

/** Names under which clients know a model whose own name differs. */
const ALIASES: Readonly<Record<string, string>> = {
  'claude-opus-4-6': PREMIUM_MODEL,
  'claude-opus-4-0': 'anthropic/claude-opus-4',
  'claude-sonnet-4-0': 'anthropic/claude-sonnet-4',
  'google/gemini-2.0-flash': 'google/gemini-2.0-flash-001',
  'minimax/minimax-chat': 'minimax/minimax-m2.7',
}

/** Vendors whose own API takes a model without the vendor's name; their model wins over others of the same bare name. */
const BARE_VENDORS = ['openai', 'anthropic', 'google']

/** Maps spellings of models to their ids: without the vendor, with dashes for dots, or with a snapshot date. */
type NameIndex = ReadonlyMap<string, string>

/** Indexes ids by their spellings. An ambiguous bare name belongs to the model of a vendor in `BARE_VENDORS`, if any. */
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
  return index.get(spelling) ?? index.get(spelling.replace(SNAPSHOT, '')) ?? null
}

/** The end of a vendor's own name for a version of a model. */
const SNAPSHOT = /-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/

/** Returns the vendor's own name of a version, such as `claude-sonnet-4-5-20250929`; null for other names. */
export function findDatedName(name: string): string | null {
  return SNAPSHOT.test(name) ? name.slice(name.indexOf('/') + 1) : null
}

/** Anthropic's names of models whose name without a version it does not accept. */
const ANTHROPIC_NAMES: Readonly<Record<string, string>> = {
  'claude-3-haiku': 'claude-3-haiku-20240307',
  'claude-3-opus': 'claude-3-opus-20240229',
  'claude-3-5-haiku': 'claude-3-5-haiku-20241022',
  'claude-3-5-sonnet': 'claude-3-5-sonnet-20241022',
  'claude-3-7-sonnet': 'claude-3-7-sonnet-20250219',
  'claude-opus-4': 'claude-opus-4-20250514',
  'claude-sonnet-4': 'claude-sonnet-4-20250514',
}

/** Returns the name by which Anthropic knows a published model: with dashes where the aggregator writes dots. */
export function toAnthropicName(name: string): string {
  const dashed = toSpelling(name)
  return ANTHROPIC_NAMES[dashed] ?? dashed
}

const builtInNames = indexNames(BUILT_IN_MODELS.keys())

/** Returns the ids that a name may mean: the exact id, then the published model with that spelling. */
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

/** Kinds of tasks, each with one primary model and two fallbacks, tried in this order. */
export const TIERS = {
  reasoning: {
    models: ['deepseek/deepseek-r1', 'meta-llama/llama-3.3-70b-instruct', 'moonshotai/kimi-k2.5'],
    temperature: 0.2,
  },
  coding: {
    models: ['qwen/qwen-2.5-coder-32b-instruct', 'deepseek/deepseek-r1', 'google/gemini-2.0-flash-001'],
    temperature: 0.2,
  },
  fast: {
    models: ['meta-llama/llama-3.3-70b-instruct', 'mistralai/mistral-7b-instruct', 'google/gemini-2.0-flash-001'],
    temperature: 0.2,
  },
  creative: {
    models: ['moonshotai/kimi-k2.5', 'deepseek/deepseek-r1', 'meta-llama/llama-3.3-70b-instruct'],
    temperature: 0.7,
  },
} as const satisfies Record<string, { models: readonly string[]; temperature: number }>

type Tier = keyof typeof TIERS

/** Words that callers use for a kind of task, and the tier that serves it. */
const TASKS: Readonly<Record<string, Tier>> = {
  reasoning: 'reasoning',
  analysis: 'reasoning',
  coding: 'coding',
  fast: 'fast',
  creative: 'creative',
}

/** @returns null for `general` and for unknown words. */
export function findTier(taskType: string | undefined): Tier | null {
  return taskType !== undefined && Object.hasOwn(TASKS, taskType) ? (TASKS[taskType] ?? null) : null
}

/** The default models of each provider: the primary one, then the fallback. */
export const PROVIDER_MODELS: Readonly<Record<string, readonly string[]>> = {
  openrouter: ['moonshotai/kimi-k2.5', 'openai/gpt-4o-mini'],
  openai: ['openai/gpt-4o', 'openai/gpt-4o-mini'],
  anthropic: ['anthropic/claude-sonnet-4.5', 'openai/gpt-4o'],
  gemini: ['google/gemini-2.0-flash-001', 'anthropic/claude-sonnet-4.5'],
  groq: ['groq/gemma2-9b-it', 'openai/gpt-4o-mini'],
}
