import type { CompletionRequest as WireRequest } from '../../../adapters/models/provider.ts'
import { EMBEDDED_TOKENS, listBase64Images } from '../../../adapters/models/token-text.ts'
import { AppError } from '../../../core/errors.ts'
import { listTopLevelKeys } from '../../../core/json/json-keys.ts'
import type { KeyLimits } from '../../accounts/keys/limits.ts'
import type { Plan } from '../../accounts/plans/plans.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import type { DialectTranslator } from '../dialects/dialect.ts'
import type { Guard } from '../guardrails/guard.ts'
import type { Budget } from '../usage/quota.ts'
import type { ModelRequest } from './routing.ts'

/** The payer of a call and its limits: plan, key and budget. `agentId` is `direct` for calls that no agent makes. */
export type Caller = {
  userId: string
  agentId: string
  plan: Plan
  key: KeyLimits | null
  /** The preferred provider with the platform's keys, or null. */
  aiProvider: string | null
  budget?: Budget
  /** The guardrails of the key or agent. */
  guard?: Guard | null
  /** The tags of `x-stead-tags`. */
  tags?: readonly string[]
  /** The agent's owner stores the bodies of its requests. */
  logBodies?: boolean
  /** Seconds that answers may be repeated; 0 or absent without a cache. */
  cacheSeconds?: number
}

/** Returns whether the owner of the key or agent stores the bodies of its calls. */
export function keepsBodies({ logBodies, key }: Caller): boolean {
  return logBodies === true || key?.logBodies === true
}

/** A completion to route. `json` is the body as received; it is forwarded unchanged where nothing has to be replaced. */
export type CompletionRequest = {
  caller: Caller
  requested: ModelRequest
  body: Readonly<Record<string, unknown>>
  json: string
  endpoint: string
  signal: AbortSignal
  /** The translator of the caller's dialect, unless that is Chat Completions. */
  translator?: DialectTranslator
  /** The caller's headers for providers of the same dialect. */
  headers?: Readonly<Record<string, string>>
}

/**
 * The most tokens that a call may use. All input counts as written to the provider's cache when the caller asks for that,
 * because it costs more. `isBounded`: the caller limited the length of the answer.
 */
export type RequestSize = {
  inputTokens: number
  cacheCreationTokens: number
  cacheCreationHourTokens: number
  outputTokens: number
  isBounded: boolean
}

/** Output tokens to reserve when the caller sets no limit. */
const DEFAULT_MAX_TOKENS = 4096
/** A lower bound for every script: too much is released afterwards, too little would exceed a limit. */
const BYTES_PER_TOKEN = 3
const EMBEDDED_DATA = /data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+/g

type Body = Readonly<Record<string, unknown>>

/** Limits of the answer's length. Providers of Chat Completions differ in the name they use. */
const MAX_TOKENS_FIELDS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens']

export function sizeOfCompletion(body: Body, json: string): RequestSize {
  const asked = maxTokens(body)
  const inputTokens = boundInput(body, json)
  const isHour = json.includes('"ttl"') && json.includes('"1h"')
  const created = json.includes('"cache_control"') ? inputTokens : 0
  return {
    inputTokens,
    cacheCreationTokens: isHour ? 0 : created,
    cacheCreationHourTokens: isHour ? created : 0,
    outputTokens: (asked ?? DEFAULT_MAX_TOKENS) * answersAsked(body),
    isBounded: asked !== null,
  }
}

/** Embeddings have no output tokens. */
export function sizeOfEmbedding(body: Body, json: string): RequestSize {
  const inputTokens = boundInput(body, json)
  return { inputTokens, cacheCreationTokens: 0, cacheCreationHourTokens: 0, outputTokens: 0, isBounded: true }
}

function boundInput(body: Body, json: string): number {
  const images = json.includes('"base64"') ? listBase64Images(body.messages) : []
  const imageBytes = images.reduce((sum, { length }) => sum + length, 0)
  if (!json.includes(';base64,')) return boundText(json, imageBytes) + images.length * EMBEDDED_TOKENS
  let embedded = images.length
  const text = json.replace(EMBEDDED_DATA, () => {
    embedded += 1
    return ''
  })
  return boundText(text, imageBytes) + embedded * EMBEDDED_TOKENS
}

function boundText(text: string, withoutBytes: number): number {
  return Math.ceil((Buffer.byteLength(text) - withoutBytes) / BYTES_PER_TOKEN)
}

/** Returns the larger of all limits; null without one. */
function maxTokens(body: Body): number | null {
  const asked = MAX_TOKENS_FIELDS.map((field) => body[field]).filter((value) => typeof value === 'number')
  if (asked.length === 0 || Math.max(...asked) <= 0) return null
  return Math.max(...asked)
}

function answersAsked({ n }: Body): number {
  return typeof n === 'number' ? Math.max(1, n) : 1
}

/** A request body in one dialect, with its JSON text. */
export type BodyForm = Pick<WireRequest, 'dialect' | 'headers'> & { body: Body; json: string }

/** Fields that are not forwarded: the provider could choose models outside the plan. */
const ROUTING_FIELDS = ['fallbacks', 'models', 'route', 'taskType']

/** Returns the caller's own text unless the model's name or `changes` differ. */
export function toWire(model: CatalogueModel, form: BodyForm, changes: Record<string, unknown>): WireRequest {
  const { body } = form
  const hasRouting = ROUTING_FIELDS.some((field) => body[field] !== undefined)
  if (isFor(form, model) && Object.keys(changes).length === 0 && !hasRouting) return form
  const own = hasRouting
    ? Object.fromEntries(Object.entries(body).filter(([field]) => !ROUTING_FIELDS.includes(field)))
    : body
  const changed = { ...own, ...changes, model: model.upstreamId }
  return { ...form, body: changed, json: JSON.stringify(changed) }
}

function isFor(form: BodyForm, { upstreamId }: CatalogueModel): form is BodyForm & WireRequest {
  return form.body.model === upstreamId
}

/** Limits the answer to the reserved length when the quota is nearly used up. */
export function toBound(
  model: CatalogueModel,
  { dialect }: Pick<BodyForm, 'dialect'>,
  size: RequestSize,
  isTight: boolean,
): Record<string, unknown> {
  if (size.isBounded || !isTight) return {}
  if (dialect === 'responses') return { max_output_tokens: DEFAULT_MAX_TOKENS }
  const isNewName = dialect === 'chat' && model.provider.id === 'openai'
  return { [isNewName ? 'max_completion_tokens' : 'max_tokens']: DEFAULT_MAX_TOKENS }
}

/** Requests a stream, and in Chat Completions its usage, which providers omit by default. */
export function toStreamOptions({ dialect, body }: BodyForm): Record<string, unknown> {
  const { stream, stream_options: options } = body
  if (dialect !== 'chat') return stream === true ? {} : { stream: true }
  const isAsked = typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage
  return stream === true && isAsked === true ? {} : { stream: true, stream_options: { include_usage: true } }
}

/** Fields that decide routing and cost. */
const CONTROL_KEYS = new Set([
  'background',
  'conversation',
  'fallbacks',
  'input',
  'max_completion_tokens',
  'max_output_tokens',
  'max_tokens',
  'messages',
  'model',
  'models',
  'n',
  'previous_response_id',
  'prompt',
  'route',
  'store',
  'stream',
  'stream_options',
  'taskType',
])
const FOLDED_KEYS = new Set([...CONTROL_KEYS].map(fold))

/**
 * Rejects duplicate and misspelt control keys. The body is forwarded as text, and parsers differ in which duplicate counts and
 * in whether `Model` means `model`, so a provider could see other limits than we do.
 * @throws AppError `invalid`
 */
export function requirePlainControlKeys(json: string): void {
  const seen = new Set<string>()
  for (const key of listTopLevelKeys(json)) {
    if (CONTROL_KEYS.has(key)) {
      if (seen.has(key)) throw new AppError('invalid', `${key} stands twice in the body`)
      seen.add(key)
    } else if (FOLDED_KEYS.has(fold(key))) {
      throw new AppError('invalid', `${key} is not a field: names are written as the API writes them`)
    }
  }
}

/** Upper case first, because some parsers equate the long s and the Kelvin sign with `s` and `k`. */
function fold(key: string): string {
  return key.toUpperCase().toLowerCase()
}
