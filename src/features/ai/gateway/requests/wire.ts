import type { CompletionBody } from '../../../../adapters/models/provider.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import type { CompletionRequest } from './completion-request.ts'
import { DEFAULT_MAX_TOKENS, type RequestSize } from './size.ts'

/** A request as a provider gets it. */
export type Wire = { body: CompletionBody; json: string }

/** Ours, not the provider's: it would choose further models by itself, outside the plan. */
const ROUTING_FIELDS = ['fallbacks', 'models', 'route', 'taskType']

/** The caller's text, unless the model's name or `changes` make another of it. */
export function toWire(
  model: CatalogueModel,
  { body, json }: Pick<CompletionRequest, 'body' | 'json'>,
  changes: Record<string, unknown>,
): Wire {
  const hasRouting = ROUTING_FIELDS.some((field) => body[field] !== undefined)
  const isSame = body.model === model.upstreamId && Object.keys(changes).length === 0 && !hasRouting
  if (isSame) return { body: { ...body, model: model.upstreamId }, json }
  const own = hasRouting
    ? Object.fromEntries(Object.entries(body).filter(([field]) => !ROUTING_FIELDS.includes(field)))
    : body
  const changed = { ...own, ...changes, model: model.upstreamId }
  return { body: changed, json: JSON.stringify(changed) }
}

/** Near a limit the answer must not be longer than what was set aside for it. */
export function toBound(model: CatalogueModel, size: RequestSize, isTight: boolean): Record<string, unknown> {
  if (size.isBounded || !isTight) return {}
  return { [model.provider.id === 'openai' ? 'max_completion_tokens' : 'max_tokens']: DEFAULT_MAX_TOKENS }
}

/** A streamed answer tells what it used only when it is asked to. */
export function toUsageWish({ stream, stream_options: options }: CompletionRequest['body']): Record<string, unknown> {
  const isAsked = typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage
  return stream === true && isAsked === true ? {} : { stream: true, stream_options: { include_usage: true } }
}
