import { and, eq, isNull } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { isSameSecret, sha256 } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import { users } from '../users/tables.ts'
import { type Identity, identityColumns } from '../users/users.ts'
import { PREFIX_LENGTH } from './keys.ts'
import { type KeyLimits, requireAllowedAddress, scopesOf, toKeyLimits } from './limits.ts'
import { apiKeys } from './tables.ts'

/** `lastUsed` is informational: a precision of one minute saves a write per call. */
const LAST_USED_STEP_MS = 60_000

/** Features of a valid key; the same for every plan. */
export const FEATURES = ['dashboard', 'marketplace', 'analytics']

/** The owner of a key as stored now, and the limits of the key. */
export type KeyHolder = Identity & { scopes: readonly string[]; key: KeyLimits }

/**
 * Returns the holder of a raw key that `client` uses; null for unknown, disabled and expired keys.
 * @throws AppError `forbidden` ADDRESS_NOT_ALLOWED.
 */
export type VerifyKey = (key: string, client?: Client) => KeyHolder | null

/** The client of a request. Its address is read only for keys with allowed ranges, because that costs as much as routing. */
export type Client = { readonly address: string | null }

/** Finds keys by their first 10 characters and compares digests in constant time. Records the use in the background. */
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
      endUserBudgetMicroUsd: apiKeys.endUserBudgetMicroUsd,
      logBodies: apiKeys.logBodies,
      guardrails: apiKeys.guardrails,
      cacheSeconds: apiKeys.cacheSeconds,
      allowedCidrs: apiKeys.allowedCidrs,
      budgetIncreaseMicroUsd: apiKeys.budgetIncreaseMicroUsd,
      budgetIncreaseUntil: apiKeys.budgetIncreaseUntil,
      user: identityColumns,
    })
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.userId))
    .where(and(eq(apiKeys.prefix, parameter('prefix')), isNull(apiKeys.disabledAt), isNull(users.disabledAt)))
    .prepare()
  // By the digest, so that raw keys are not kept in memory. Several keys may share a prefix.
  const findMatch = memoize(deps.db, (prefixAndHash) => {
    const [prefix, hash] = [prefixAndHash.slice(0, PREFIX_LENGTH), prefixAndHash.slice(PREFIX_LENGTH)]
    return candidates.all({ prefix }).find((candidate) => isSameSecret(hash, candidate.hash)) ?? null
  })

  /** The same object until something is written, so that callers may derive more from it once. */
  const holders = new WeakMap<NonNullable<ReturnType<typeof findMatch>>, KeyHolder>()
  const findHolder = (match: NonNullable<ReturnType<typeof findMatch>>, now: Date): KeyHolder => {
    const known = holders.get(match)
    if (known) return known
    const holder = { ...match.user, scopes: scopesOf(match), key: toKeyLimits(match, now) }
    // An increase of the budget ends with time.
    if (match.budgetIncreaseUntil === null) holders.set(match, holder)
    return holder
  }

  return (key, client) => {
    const match = findMatch(`${key.slice(0, PREFIX_LENGTH)}${sha256(key)}`)
    const now = deps.clock.now()
    if (!match || (match.expiresAt && match.expiresAt <= now)) return null
    requireAllowedAddress(match.allowedCidrs, client)
    if (!match.lastUsedAt || now.getTime() - match.lastUsedAt.getTime() >= LAST_USED_STEP_MS) {
      recordUse(deps.db, match.id, now).catch((error) =>
        deps.log.error({ error: errorMessage(error) }, 'cannot note a key’s use'),
      )
    }
    return findHolder(match, now)
  }
}

async function recordUse(db: Db, id: string, now: Date): Promise<void> {
  await write(db, (tx) => tx.update(apiKeys).set({ lastUsedAt: now }).where(eq(apiKeys.id, id)).run())
}
