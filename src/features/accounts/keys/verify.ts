import { and, eq, isNull } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { isSameSecret, sha256 } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes/memo.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/parameters.ts'
import { write } from '../../../db/write.ts'
import { users } from '../users/tables.ts'
import { type Identity, identityColumns } from '../users/users.ts'
import { PREFIX_LENGTH } from './keys.ts'
import { type KeyLimits, scopesOf } from './limits.ts'
import { apiKeys } from './tables.ts'

/** `lastUsed` is for people: a minute is exact enough and spares a write per call. */
const LAST_USED_STEP_MS = 60_000

/** What a valid key opens; the same three for every plan. */
export const FEATURES = ['dashboard', 'marketplace', 'analytics']

/** Who holds a key, as the account is now, and what the key is limited to. */
export type KeyHolder = Identity & { scopes: readonly string[]; key: KeyLimits }

/** Finds who holds a raw key; null when no key matches, and for one that is disabled or past its time. */
export type VerifyKey = (key: string) => KeyHolder | null

/** Looks keys up by their first 10 characters and compares digests in constant time (Interface 4.3). Notes the use afterwards. */
export function createKeyVerifier(deps: { db: Db; clock: Clock; log: Log }): VerifyKey {
  const candidates = deps.db
    .select({
      id: apiKeys.id,
      hash: apiKeys.hash,
      lastUsedAt: apiKeys.lastUsedAt,
      expiresAt: apiKeys.expiresAt,
      scopes: apiKeys.scopes,
      budgetMicroUsd: apiKeys.budgetMicroUsd,
      tokensPerMonth: apiKeys.tokensPerMonth,
      models: apiKeys.models,
      requestsPerMinute: apiKeys.requestsPerMinute,
      user: identityColumns,
    })
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.userId))
    .where(and(eq(apiKeys.prefix, parameter('prefix')), isNull(apiKeys.disabledAt), isNull(users.disabledAt)))
    .prepare()
  const findCandidates = memoize(deps.db, (prefix) => candidates.all({ prefix }))

  return (key) => {
    const hash = sha256(key)
    // Two keys may share a prefix: every candidate is compared.
    const match = findCandidates(key.slice(0, PREFIX_LENGTH)).find((candidate) => isSameSecret(hash, candidate.hash))
    const now = deps.clock.now()
    if (!match || (match.expiresAt && match.expiresAt <= now)) return null
    if (!match.lastUsedAt || now.getTime() - match.lastUsedAt.getTime() >= LAST_USED_STEP_MS) {
      recordUse(deps.db, match.id, now).catch((error) =>
        deps.log.error({ error: errorMessage(error) }, 'cannot note a key’s use'),
      )
    }
    const { id, budgetMicroUsd, tokensPerMonth, models, requestsPerMinute } = match
    return {
      ...match.user,
      scopes: scopesOf(match),
      key: { id, budgetMicroUsd, tokensPerMonth, models, requestsPerMinute },
    }
  }
}

async function recordUse(db: Db, id: string, now: Date): Promise<void> {
  await write(db, (tx) => tx.update(apiKeys).set({ lastUsedAt: now }).where(eq(apiKeys.id, id)).run())
}
