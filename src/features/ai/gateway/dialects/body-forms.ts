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
  const { translator, body, json, headers } = request
  const dialect = translator?.dialect ?? 'chat'
  const kept = translator?.toOwnRequest?.(body) ?? body
  const own: BodyForm = {
    ...{ dialect, body: kept, json: kept === body ? json : JSON.stringify(kept) },
    ...(headers && { headers }),
  }
  const native = chosen.filter((target) => speaks(target, dialect))
  const targets = chosen.filter((target) => speaks(target, dialect) || speaks(target, 'chat'))
  if (targets.length === 0)
    throw new AppError('invalid', `Model ${chosen[0]?.id} takes requests in another format only`)
  if (!translator || native.length === targets.length) return { targets, formOf: () => own, dropped: [] }
  try {
    const translated = translator.toChatRequest(body)
    const chat: BodyForm = { dialect: 'chat', body: translated.body, json: JSON.stringify(translated.body) }
    return {
      targets,
      formOf: (target) => (speaks(target, dialect) ? own : chat),
      dropped: translated.dropped,
    }
  } catch (error) {
    if (native.length === 0 || !(error instanceof AppError)) throw error
    return { targets: native, formOf: () => own, dropped: [] }
  }
}

function speaks({ provider }: CatalogueModel, dialect: Dialect): boolean {
  return provider.dialects.includes(dialect)
}
