import { type Dialect, NO_TOOL_USES, type ToolUses } from '../../../../adapters/models/provider.ts'
import { AppError } from '../../../../core/errors.ts'
import { type MicroUsd, tokenCost } from '../../../../core/money.ts'
import { type CatalogueModel, hasMoneyBudget } from '../../catalogue/catalogue.ts'
import type { Caller } from '../request-body.ts'

type Body = Readonly<Record<string, unknown>>

/**
 * The most that the vendor's tools of a request may be used. `isBounded`: the caller limits that. `unpriced` are the types of
 * tools whose cost no vendor reports.
 */
export type ToolSize = { uses: ToolUses; isBounded: boolean; unpriced: readonly string[] }

/** Uses to reserve when the caller sets no limit. */
const DEFAULT_USES = 5
/** Tokens of the results of one search, which the vendor adds to the input. */
const RESULT_TOKENS = 8000

/** Prices of one use, as the vendors list them. */
const SEARCH_MICRO_USD = 10_000
const FILE_SEARCH_MICRO_USD = 2500
/** The preview of web search with models that do not reason, and the search models of Chat Completions. */
const EARLY_SEARCH_MICRO_USD = 25_000
const EARLY_MODEL = /^(?:gpt-4|chatgpt)/

const MESSAGES_SEARCH = /^web_search_/
const RESPONSES_SEARCH = /^web_search(?:_|$)/
const UNPRICED: Readonly<Record<Dialect, RegExp | null>> = {
  chat: null,
  messages: /^code_execution_/,
  responses: /^(?:code_interpreter|image_generation)$/,
}
/** The only provider that reports the cost of a call as a whole. */
const REPORTS_COST = 'openrouter'

/** Reads the vendor's tools of a request in its dialect. */
export function sizeOfTools(dialect: Dialect, body: Body): ToolSize {
  const tools = dialect === 'responses' ? [...objectsOf(body.tools), ...listAdded(body.input)] : objectsOf(body.tools)
  const unpriced = tools.flatMap((tool) => (isUnpriced(dialect, tool) ? [String(tool.type)] : []))
  if (dialect === 'messages') return { ...sizeOfMessagesTools(tools), unpriced }
  if (dialect === 'chat') {
    const webSearches = typeof body.web_search_options === 'object' && body.web_search_options !== null ? 1 : 0
    return { uses: { webSearches, fileSearches: 0 }, isBounded: true, unpriced }
  }
  const limit = toLimit(body.max_tool_calls)
  const hasType = (isType: (type: string) => boolean) => tools.some(({ type }) => isType(String(type)))
  const uses = {
    webSearches: hasType((type) => RESPONSES_SEARCH.test(type)) ? (limit ?? DEFAULT_USES) : 0,
    fileSearches: hasType((type) => type === 'file_search') ? (limit ?? DEFAULT_USES) : 0,
  }
  return { uses, isBounded: limit !== null || uses.webSearches + uses.fileSearches === 0, unpriced }
}

function sizeOfMessagesTools(tools: readonly Body[]): Omit<ToolSize, 'unpriced'> {
  const limits = tools.filter(isMessagesSearch).map(({ max_uses: limit }) => toLimit(limit))
  const webSearches = limits.reduce<number>((sum, limit) => sum + (limit ?? DEFAULT_USES), 0)
  return { uses: { webSearches, fileSearches: 0 }, isBounded: !limits.includes(null) }
}

/** Limits the vendor's tools to the reserved uses when the quota is nearly used up. */
export function toToolBound(dialect: Dialect, body: Body, { isBounded }: ToolSize): Body {
  if (isBounded) return {}
  if (dialect === 'responses') return { max_tool_calls: DEFAULT_USES }
  const bind = (tool: Body) =>
    isMessagesSearch(tool) && toLimit(tool.max_uses) === null ? { ...tool, max_uses: DEFAULT_USES } : tool
  return { tools: objectsOf(body.tools).map(bind) }
}

/** Returns what the reserved uses of tools may cost, with the tokens of their results. */
export function reservedToolCost(target: CatalogueModel, dialect: Dialect, body: Body, { uses }: ToolSize): MicroUsd {
  const count = uses.webSearches + uses.fileSearches
  if (count === 0 || !target.price || !target.provider.dialects.includes(dialect)) return 0
  const results = tokenCost({ inputTokens: count * RESULT_TOKENS, outputTokens: 0 }, target.price)
  return results + toolCost(target, body, uses)
}

/** Returns the price of the reported uses of tools. */
export function toolCost({ upstreamId }: CatalogueModel, body: Body, uses: ToolUses = NO_TOOL_USES): MicroUsd {
  const isEarly = EARLY_MODEL.test(upstreamId) && !objectsOf(body.tools).some(({ type }) => type === 'web_search')
  const search = isEarly ? EARLY_SEARCH_MICRO_USD : SEARCH_MICRO_USD
  return uses.webSearches * search + uses.fileSearches * FILE_SEARCH_MICRO_USD
}

/** @throws AppError `forbidden` TOOL_UNPRICED for a caller with a money budget, and a tool whose cost no one reports. */
export function requirePricedTools(
  caller: Caller,
  dialect: Dialect,
  { unpriced }: ToolSize,
  targets: readonly CatalogueModel[],
): void {
  const [tool] = unpriced
  if (tool === undefined || !hasMoneyBudget(caller)) return
  const isUnreported = targets.some(
    ({ provider }) => provider.dialects.includes(dialect) && provider.id !== REPORTS_COST,
  )
  if (!isUnreported) return
  const message = `The cost of the tool ${tool} is not reported, so callers with a budget cannot use it.`
  throw new AppError('forbidden', message, { code: 'TOOL_UNPRICED' })
}

/** A shell in a container of the vendor costs by time; one of the caller's machine costs nothing. */
function isUnpriced(dialect: Dialect, { type, environment }: Body): boolean {
  if (dialect === 'responses' && type === 'shell') return Object(environment).type !== 'local'
  return UNPRICED[dialect]?.test(String(type)) ?? false
}

function isMessagesSearch({ type }: Body): boolean {
  return MESSAGES_SEARCH.test(String(type))
}

function toLimit(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 ? value : null
}

function listAdded(input: unknown): readonly Body[] {
  return objectsOf(input).flatMap(({ type, tools }) => (type === 'additional_tools' ? objectsOf(tools) : []))
}

function objectsOf(list: unknown): readonly Body[] {
  if (!Array.isArray(list)) return []
  return list.filter((one): one is Body => typeof one === 'object' && one !== null)
}
