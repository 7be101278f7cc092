import type { Dialect } from '../../../../adapters/models/provider.ts'
import { AppError } from '../../../../core/errors.ts'
import type { CatalogueModel } from '../../catalogue/catalogue.ts'
import type { BodyForm, CompletionRequest } from '../request-body.ts'

/**
 * The models that can take a call, and the body for each. Providers of the caller's dialect get the caller's own body,
 * others a translation to Chat Completions that leaves the tools `dropped` out.
 */
export type BodyForms = {
  targets: readonly CatalogueModel[]
  formOf(target: CatalogueModel): BodyForm
  dropped: readonly string[]
}

/**
 * Translates a request where a target does not speak its dialect. A request without a translation goes only to targets that
 * speak it.
 * @throws AppError `invalid` when no target can take the request.
 */
export function toBodyForms(request: CompletionRequest, chosen: readonly CatalogueModel[]): BodyForms {
  const { translator } = request
  const dialect = translator?.dialect ?? 'chat'
  const own = toOwnForm(request, dialect)
  const native = chosen.filter((target) => speaks(target, dialect))
  const targets = chosen.filter((target) => speaks(target, dialect) || speaks(target, 'chat'))
  if (targets.length === 0)
    throw new AppError('invalid', `Model ${chosen[0]?.id} takes requests in another format only`)
  if (!translator || native.length === targets.length) return { targets, formOf: () => own, dropped: [] }
  try {
    const { body, dropped } = translator.toChatRequest(request.body)
    const chat: BodyForm = { dialect: 'chat', body, json: JSON.stringify(body) }
    return { targets, formOf: (target) => (speaks(target, dialect) ? own : toChatForm(target, chat)), dropped }
  } catch (error) {
    if (native.length === 0 || !(error instanceof AppError)) throw error
    return { targets: native, formOf: () => own, dropped: [] }
  }
}

/** Returns the caller's body for providers of its dialect. */
export function toOwnForm({ translator, body, json, headers }: CompletionRequest, dialect: Dialect): BodyForm {
  const cleaned = translator?.toOwnRequest?.(body) ?? body
  const form = cleaned === body ? { dialect, body, json } : { dialect, body: cleaned, json: JSON.stringify(cleaned) }
  return headers ? { ...form, headers } : form
}

/** OpenAI's newer models accept only the newer name of the limit, other servers often only the older one. */
function toChatForm({ provider }: CatalogueModel, chat: BodyForm): BodyForm {
  const { max_tokens: limit, ...rest } = chat.body
  if (provider.id !== 'openai' || limit === undefined) return chat
  const body = { ...rest, max_completion_tokens: limit }
  return { ...chat, body, json: JSON.stringify(body) }
}

function speaks({ provider }: CatalogueModel, dialect: Dialect): boolean {
  return provider.dialects.includes(dialect)
}
