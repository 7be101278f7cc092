import { type AiProvider, ProviderError } from '../../../adapters/models/provider.ts'
import { AppError } from '../../../core/errors.ts'

/**
 * Asks the provider whether it accepts its key, without spending anything.
 * @throws AppError `invalid` CREDENTIALS_REFUSED when it does not; `upstream_failed`, `upstream_timeout` or `limited` when the
 * key could not be tried.
 */
export async function tryKey(provider: AiProvider, timeoutMs: number): Promise<void> {
  await tryProvider(provider, timeoutMs, (signal) => provider.tryKey(signal))
}

/** Calls `work`, which asks the provider something. @throws AppError as `tryKey`. */
export async function tryProvider<T>(
  provider: AiProvider,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    return await work(timeout)
  } catch (error) {
    // Gemini answers 400 to a key that it does not know; these requests have nothing else that could be wrong.
    if (error instanceof ProviderError && (error.failure === 'credentials' || error.failure === 'caller')) {
      const message = `Provider ${provider.id} does not accept this key`
      throw new AppError('invalid', message, { code: 'CREDENTIALS_REFUSED' }, { cause: error })
    }
    if (error instanceof ProviderError) {
      throw new AppError(error.kind, notSaved(error.message), error.extra, { cause: error })
    }
    if (!timeout.aborted) throw error
    const message = notSaved(`AI provider ${provider.id} did not answer in time`)
    throw new AppError('upstream_timeout', message, {}, { cause: error })
  }
}

function notSaved(reason: string): string {
  return `The key could not be tried, so nothing was saved: ${reason}`
}
