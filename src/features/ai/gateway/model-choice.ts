import { distance } from 'fastest-levenshtein'
import type { AiProvider } from '../../../adapters/models/provider.ts'
import { AppError } from '../../../core/errors.ts'
import type { CheckModel } from '../../agents/registry/checks.ts'
import { TIERS } from '../catalogue/known-models.ts'
import { isPlaceholder, listForUser, type RouteDeps } from './routing.ts'

const MAX_NEAR = 3

/**
 * Creates the check of an agent's configured model. Accepts models that the platform or the owner's keys offer, published
 * models, and task tiers. Accepts everything while no provider is configured.
 */
export function createModelCheck(deps: RouteDeps & { providers: readonly AiProvider[] }): CheckModel {
  return (model, { ownerId, hasOwnKey }) => {
    if (model === undefined || hasOwnKey || isPlaceholder(model) || Object.hasOwn(TIERS, model)) return
    const own = ownerId === null ? [] : deps.ownKeys.list(ownerId)
    const providers = [...deps.providers, ...own]
    if (providers.length === 0 || deps.catalogue.offers(model).length > 0) return
    if (ownerId !== null && own.some((provider) => deps.catalogue.offerOf(provider, model, ownerId))) return
    if (deps.catalogue.findPrice(model) !== null) return
    if (providers.some((provider) => deps.catalogue.mayOffer(provider, model))) return
    const known = ownerId === null ? deps.catalogue.list() : listForUser(deps, ownerId)
    throw unknownModel(
      model,
      known.map(({ id }) => id),
    )
  }
}

function unknownModel(model: string, known: readonly string[]): AppError {
  const near = listNear(model, known)
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : 'GET /api/models lists the known ones.'
  return new AppError('invalid', `Unknown model ${model}. ${hint}`, { code: 'UNKNOWN_MODEL', near })
}

/** Returns the known ids nearest to `model`, nearest first; the vendor before the slash may be missing or wrong. */
function listNear(model: string, known: readonly string[]): string[] {
  const [wanted, name] = [model.toLowerCase(), nameOf(model)]
  return known
    .map((id) => ({ id, steps: Math.min(distance(wanted, id.toLowerCase()), distance(name, nameOf(id))) }))
    .filter(({ id, steps }) => steps <= Math.max(2, name.length / 4) || (name.length > 3 && nameOf(id).includes(name)))
    .sort((one, other) => one.steps - other.steps)
    .slice(0, MAX_NEAR)
    .map(({ id }) => id)
}

function nameOf(model: string): string {
  return model.toLowerCase().slice(model.lastIndexOf('/') + 1)
}
