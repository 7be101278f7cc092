import { ProviderError } from '../../../../adapters/models/provider.ts'
import type { TokenCounter } from '../../../../adapters/models/token-counter.ts'
import { errorMessage } from '../../../../core/errors.ts'
import type { Log } from '../../../../core/log.ts'
import { guardRequest } from '../../guardrails/guard-request.ts'
import { toWire } from '../request-body.ts'
import { type Cooldowns, chooseTargets, type RouteDeps } from '../routing.ts'
import { toOwnForm } from './body-forms.ts'
import type { DialectRequest } from './dialect-answers.ts'

type CountDeps = RouteDeps & { tokens: TokenCounter; cooldowns: Pick<Cooldowns, 'isAvailable'>; log: Log }

/**
 * Counts the input tokens of a request. Asks the provider that would serve it if that speaks the caller's dialect; otherwise, and
 * when the provider cannot answer, Stead counts. Nothing is recorded, because vendors count for free.
 * @throws AppError as `complete` for the choice of the model and the guardrails, `invalid` for a request that the provider refuses.
 */
export async function countInput(deps: CountDeps, asked: DialectRequest): Promise<number> {
  const { guard } = asked.caller
  const request = guard ? await guardRequest(guard, asked) : asked
  const targets = chooseTargets(deps, request.requested, request.caller)
  const target = targets.find((one) => deps.cooldowns.isAvailable(one)) ?? targets[0]
  const { dialect } = request.translator
  if (target?.provider.dialects.includes(dialect)) {
    const wire = toWire(target, toOwnForm(request, dialect), {})
    try {
      const counted = await target.provider.countTokens?.(wire, request.signal)
      if (counted != null) return counted
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure === 'caller') throw error
      deps.log.info({ provider: target.provider.id, error: errorMessage(error) }, 'tokens are counted locally')
    }
  }
  return (await deps.tokens.count({ request: request.json, said: '' })).input
}
