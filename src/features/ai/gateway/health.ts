import type { AiProvider } from '../../../adapters/models/provider.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { ProviderHealth } from './schemas.ts'

const CACHE_MS = 30_000
const PROBE_TIMEOUT_MS = 5000

/** Asks each configured provider for its model list, at most every 30 s. Healthy means that all of them answer, and there is one. */
export function createAiHealth(deps: { providers: AiProvider[]; log: Log }): () => Promise<ProviderHealth> {
  let answer: Promise<ProviderHealth> | undefined
  let askedAt = 0
  return () => {
    if (!answer || performance.now() - askedAt > CACHE_MS) {
      askedAt = performance.now()
      answer = probeAll(deps)
    }
    return answer
  }
}

async function probeAll(deps: { providers: AiProvider[]; log: Log }): Promise<ProviderHealth> {
  const answers = await Promise.all(
    deps.providers.map(async (provider) => [provider.id, await isAnswering(provider, deps.log)] as const),
  )
  const isHealthy = answers.length > 0 && answers.every(([, isUp]) => isUp)
  return { status: isHealthy ? 'healthy' : 'degraded', providers: Object.fromEntries(answers) }
}

async function isAnswering(provider: AiProvider, log: Log): Promise<boolean> {
  try {
    await provider.listModels(AbortSignal.timeout(PROBE_TIMEOUT_MS))
    return true
  } catch (error) {
    log.warn({ provider: provider.id, error: errorMessage(error) }, 'AI provider is not healthy')
    return false
  }
}
