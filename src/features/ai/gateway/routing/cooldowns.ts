import QuickLRU from 'quick-lru'
import type { ProviderError } from '../../../../adapters/models/provider.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'

/** So many failures in a row, and a target is left alone for a while. */
const FAILURES_UNTIL_REST = 3
const REST_MS = 30_000
/** Our credentials do not mend themselves within seconds. */
const CREDENTIALS_REST_MS = 60_000
/** While one call tries a target that has rested, the others still pass it by. */
const TRIAL_MS = 5_000
const MAX_REST_MS = 10 * 60_000

/**
 * How a target stands: `ready`, `resting` after failures (still asked when nothing else is left), or `closed` because it
 * asked to be left alone for `waitMs`.
 */
export type Standing = { state: 'ready' | 'resting' | 'closed'; waitMs: number }

/** Which models of which providers to leave alone, and for how long. In memory: a restart asks anew. */
export type Cooldowns = {
  standing(target: CatalogueModel): Standing
  /** Would it be asked now? Looking changes nothing. */
  isAvailable(target: CatalogueModel): boolean
  noteSuccess(target: CatalogueModel): void
  noteFailure(target: CatalogueModel, error: ProviderError): void
}

type Rest = { failures: number; until: number; isClosed: boolean }

/** Users with a key of their own choose the names of models. */
const MAX_RESTS = 10_000

/** `nowMs` must never go back: `performance.now`. */
export function createCooldowns(deps: { nowMs: () => number }): Cooldowns {
  const rests = new QuickLRU<string, Rest>({ maxSize: MAX_RESTS })

  const rest = (key: string, ms: number, failures: number, isClosed: boolean) =>
    rests.set(key, { failures, until: deps.nowMs() + Math.min(ms, MAX_REST_MS), isClosed })

  const standingOf = (key: string): Standing => {
    const known = rests.get(key)
    if (!known || known.until === 0) return { state: 'ready', waitMs: 0 }
    const waitMs = known.until - deps.nowMs()
    if (waitMs > 0) return { state: known.isClosed ? 'closed' : 'resting', waitMs }
    if (known.isClosed) known.until = 0
    else known.until = deps.nowMs() + TRIAL_MS
    return { state: 'ready', waitMs: 0 }
  }

  return {
    standing(target) {
      const ofProvider = standingOf(providerKeyOf(target))
      return ofProvider.state === 'ready' ? standingOf(keyOf(target)) : ofProvider
    },
    isAvailable: (target) =>
      [providerKeyOf(target), keyOf(target)].every((key) => (rests.get(key)?.until ?? 0) <= deps.nowMs()),
    noteSuccess(target) {
      rests.delete(providerKeyOf(target))
      rests.delete(keyOf(target))
    },
    noteFailure(target, error) {
      const key = keyOf(target)
      const failures = (rests.get(key)?.failures ?? 0) + 1
      if (error.failure === 'credentials') rest(providerKeyOf(target), CREDENTIALS_REST_MS, failures, false)
      else if (error.failure === 'limited' && error.retryAfterMs !== null) rest(key, error.retryAfterMs, failures, true)
      else if (failures >= FAILURES_UNTIL_REST) rest(key, REST_MS, failures, false)
      else rests.set(key, { failures, until: 0, isClosed: false })
    },
  }
}

/** A user's own key fails for that user alone. */
function providerKeyOf({ provider, paidBy }: CatalogueModel): string {
  return paidBy === null ? provider.id : `${provider.id} of ${paidBy}`
}

function keyOf(target: CatalogueModel): string {
  return `${providerKeyOf(target)} ${target.upstreamId}`
}
