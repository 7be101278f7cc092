import type { AiModel } from '../../src/features/ai/gateway/schemas.ts'
import type { ModelsSearch } from '../routes/searches.ts'

type Ability = NonNullable<ModelsSearch['can']>

/** Filters and sorts models; unknown values come last in either direction. */
export function chooseModels(models: readonly AiModel[], search: ModelsSearch): AiModel[] {
  const words = (search.search ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const left = models.filter(
    (model) =>
      (!search.provider || model.provider === search.provider) &&
      (!search.can || hasAbility(model, search.can)) &&
      words.every((word) => `${model.id} ${model.name} ${model.description}`.toLowerCase().includes(word)),
  )
  const sort = search.sort ?? 'name'
  const sign = (search.order ?? usualOrder(sort)) === 'asc' ? 1 : -1
  return left.toSorted((one, other) => {
    if (sort === 'name') return sign * compareNames(one, other)
    const [first, second] = [figureOf(one, sort), figureOf(other, sort)]
    const byFigure =
      first === null || second === null ? Number(first === null) - Number(second === null) : sign * (first - second)
    return byFigure || compareNames(one, other)
  })
}

/** Ignores a leading sign, as in `~anthropic/claude-latest`. */
function compareNames(one: AiModel, other: AiModel): number {
  return withoutLeadingSigns(one.name).localeCompare(withoutLeadingSigns(other.name))
}

function withoutLeadingSigns(name: string): string {
  return name.replace(/^[^\p{Letter}\p{Number}]+/u, '')
}

/** Cheapest first for prices, largest first for context. */
export function usualOrder(sort: NonNullable<ModelsSearch['sort']>): 'asc' | 'desc' {
  return sort === 'context' ? 'desc' : 'asc'
}

export function hasAbility(model: AiModel, ability: Ability): boolean {
  return ability === 'free' ? model.inputCost === 0 && model.outputCost === 0 : model.tags.includes(ability)
}

export function countProviders(models: readonly AiModel[]): { provider: string; count: number }[] {
  return [...Map.groupBy(models, ({ provider }) => provider)]
    .map(([provider, group]) => ({ provider, count: group.length }))
    .sort((one, other) => one.provider.localeCompare(other.provider))
}

function figureOf(model: AiModel, sort: 'input' | 'output' | 'context'): number | null {
  if (sort === 'context') return model.contextWindow
  return sort === 'input' ? model.inputCost : model.outputCost
}
