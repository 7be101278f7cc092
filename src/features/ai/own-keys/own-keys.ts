import { eq } from 'drizzle-orm'
import { type AiProvider, type Dialect, ProviderError } from '../../../adapters/models/provider.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { wholeList } from '../../../db/personal-data.ts'
import { write } from '../../../db/write.ts'
import { providerKeys } from './tables.ts'

const PROBE_TIMEOUT_MS = 5000

/** Opens a built-in provider, or a custom one. An empty key means none. @returns null for an unknown id. */
export type OpenProvider = (id: string, apiKey: string, custom?: CustomAddress) => AiProvider | null
/** The address of a custom provider and the dialects it speaks. */
type CustomAddress = { baseUrl: string; dialects: readonly Dialect[] }

/** Users' own keys at AI providers: used for their calls, never shown again. */
export type OwnKeys = {
  /** Returns the user's providers, ready for calls. */
  list(userId: string): readonly AiProvider[]
  listProviders(userId: string): string[]
  /** Stores a key after its provider accepted it. @throws AppError `invalid` for an unknown provider, or as `tryKey`. */
  enable(userId: string, provider: string, apiKey: string): Promise<void>
  /** Deletes all keys of a user. */
  disable(userId: string): Promise<void>
}

export function createOwnKeys(deps: { db: Db; clock: Clock; sealer: Sealer; openProvider: OpenProvider }): OwnKeys {
  const { db, clock, sealer } = deps
  const rowsOf = (userId: string) => db.select().from(providerKeys).where(eq(providerKeys.userId, userId)).all()
  const list = memoize(db, (userId): readonly AiProvider[] =>
    rowsOf(userId).flatMap(({ provider, sealedKey }) => {
      const opened = deps.openProvider(provider, sealer.unseal(sealedKey, purposeOf(userId, provider)))
      return opened ? [opened] : []
    }),
  )
  return {
    list,
    listProviders: (userId) => rowsOf(userId).map(({ provider }) => provider),
    async enable(userId, provider, apiKey) {
      const opened = deps.openProvider(provider, apiKey)
      if (!opened) throw new AppError('invalid', `Provider ${provider} is not supported`)
      await tryKey(opened, PROBE_TIMEOUT_MS)
      const sealedKey = sealer.seal(apiKey, purposeOf(userId, provider))
      const row = { userId, provider, sealedKey, createdAt: clock.now() }
      const target = [providerKeys.userId, providerKeys.provider]
      await write(db, (tx) => tx.insert(providerKeys).values(row).onConflictDoUpdate({ target, set: row }).run())
    },
    async disable(userId) {
      await write(db, (tx) => forgetOwnKeys(tx, userId))
    },
  }
}

/** Deletes all provider keys of a user in the caller's transaction. */
export function forgetOwnKeys(tx: Tx, userId: string): void {
  tx.delete(providerKeys).where(eq(providerKeys.userId, userId)).run()
}

function purposeOf(userId: string, provider: string): SealPurpose {
  return `provider_keys:${userId}:${provider}`
}

/**
 * Checks at no cost whether the provider accepts its key.
 * @throws AppError `invalid` CREDENTIALS_REFUSED when it does not; `upstream_failed`, `upstream_timeout` or `limited`
 * when the key could not be tried.
 */
export async function tryKey(provider: AiProvider, timeoutMs: number): Promise<void> {
  await tryProvider(provider, timeoutMs, (signal) => provider.tryKey(signal))
}

/** Runs a request to the provider with a timeout. @throws AppError as `tryKey` */
export async function tryProvider<T>(
  provider: AiProvider,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    return await work(timeout)
  } catch (error) {
    // Gemini answers 400 to an unknown key; these requests contain nothing else that could be invalid.
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

/** Providers that the user has keys for, without the keys. */
export const personalProviderKeys = wholeList('providerKeys', [providerKeys], (db, userId) =>
  db
    .select({ provider: providerKeys.provider, createdAt: providerKeys.createdAt })
    .from(providerKeys)
    .where(eq(providerKeys.userId, userId))
    .all(),
)
