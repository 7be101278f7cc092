import { ProviderError } from '../../../../adapters/models/provider.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import type { Cooldowns } from './cooldowns.ts'

/** What one of the targets gave, and how many were asked for it. */
export type Attempted<T> = { target: CatalogueModel; attempts: number; value: T }

/**
 * Asks the targets one after another until one gives something: the only loop that retries. Those that rest after
 * failures come last; those that asked to be left alone are not asked.
 * @throws ProviderError of the last target asked; at once when the request itself is at fault. The caller's abort as it is.
 */
export async function tryInTurn<T>(
  cooldowns: Cooldowns,
  targets: readonly CatalogueModel[],
  ask: (target: CatalogueModel) => Promise<T>,
): Promise<Attempted<T>> {
  let attempts = 0
  let failure: unknown
  for (const target of inOrder(cooldowns, targets)) {
    attempts += 1
    try {
      const value = await ask(target)
      cooldowns.noteSuccess(target)
      return { target, attempts, value }
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure === 'caller') throw error
      cooldowns.noteFailure(target, error)
      failure = error
    }
  }
  throw failure ?? allClosed(cooldowns, targets)
}

function inOrder(cooldowns: Cooldowns, targets: readonly CatalogueModel[]): CatalogueModel[] {
  const ready: CatalogueModel[] = []
  const resting: CatalogueModel[] = []
  for (const target of targets) {
    const { state } = cooldowns.standing(target)
    if (state === 'ready') ready.push(target)
    else if (state === 'resting') resting.push(target)
  }
  return resting.length === 0 ? ready : [...ready, ...resting]
}

function allClosed(cooldowns: Cooldowns, targets: readonly CatalogueModel[]): ProviderError {
  const retryAfterMs = Math.min(...targets.map((target) => cooldowns.standing(target).waitMs))
  return new ProviderError('limited', `AI provider ${targets[0]?.provider.id ?? ''} is busy`, { retryAfterMs })
}
