import { eq } from 'drizzle-orm'
import type { AiProvider } from '../../../adapters/models/provider.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes/memo.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { providerKeys } from './tables.ts'
import { tryKey } from './try-key.ts'

const PROBE_TIMEOUT_MS = 5000

/** Opens a provider that Stead knows, or one at an address of its own, where an empty key is none; null for an unknown id. */
export type OpenProvider = (id: string, apiKey: string, baseUrl?: string) => AiProvider | null

/** Keys at AI providers that users bring along: used for their calls, never shown again. */
export type OwnKeys = {
  /** Those of a user, ready to be asked. */
  list(userId: string): readonly AiProvider[]
  listProviders(userId: string): string[]
  /**
   * Keeps a key that its provider accepts.
   * @throws AppError `invalid` for an unknown provider; as `tryKey` for a key that is refused or cannot be tried.
   */
  enable(userId: string, provider: string, apiKey: string): Promise<void>
  /** Forgets all of a user's keys. */
  disable(userId: string): Promise<void>
}

export type OwnKeysDeps = { db: Db; clock: Clock; sealer: Sealer; openProvider: OpenProvider }

export function createOwnKeys(deps: OwnKeysDeps): OwnKeys {
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

/** Forgets all keys that a user has brought along, in the caller's closure. */
export function forgetOwnKeys(tx: Tx, userId: string): void {
  tx.delete(providerKeys).where(eq(providerKeys.userId, userId)).run()
}

function purposeOf(userId: string, provider: string): SealPurpose {
  return `provider_keys:${userId}:${provider}`
}
