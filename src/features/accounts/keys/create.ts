import { and, eq, lte, ne } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { sha256 } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { requireModelsOnly, toLimitColumns } from './limits.ts'
import type { CreateKeyRequest } from './schemas.ts'
import { type ApiKeyRow, apiKeys } from './tables.ts'

/** Characters of a key that are kept in the open: they find its row and let its owner recognise it. */
export const PREFIX_LENGTH = 10
const MAX_KEYS_PER_USER = 25
/** 43 of 62 characters: 256 bits, so SHA-256 is enough to keep them by. */
const RANDOM_LENGTH = 43

/**
 * Makes a key for `userId`. The raw key is in the result and nowhere else.
 * @throws AppError `limited` at 25 keys, `invalid` for an expiry that is over and for limits beside other scopes than
 * `models`.
 */
export async function createKey(
  deps: { db: Db; clock: Clock },
  userId: string,
  request: CreateKeyRequest,
): Promise<{ row: ApiKeyRow; key: string }> {
  const now = deps.clock.now()
  const limits = {
    expiresAt: readExpiry(request, now),
    scopes: [...new Set(request.scopes)],
    ...toLimitColumns(request),
  }
  requireModelsOnly(limits)
  const key = newKey()
  const row = await write(deps.db, (tx) => {
    requireKeyQuota(tx, userId, now)
    return insertKey(tx, key, { userId, name: request.name, createdAt: now, ...limits })
  })
  return { row, key }
}

/** `sk_` and 256 random bits. */
export function newKey(): string {
  return `sk_${randomText(RANDOM_LENGTH)}`
}

/** Keeps a raw key by its hash. */
export function insertKey(
  tx: Tx,
  key: string,
  row: Omit<typeof apiKeys.$inferInsert, 'id' | 'prefix' | 'hash'>,
): ApiKeyRow {
  return tx
    .insert(apiKeys)
    .values({ ...row, id: newId('key'), prefix: key.slice(0, PREFIX_LENGTH), hash: sha256(key) })
    .returning()
    .get()
}

/**
 * At the limit, keys that have expired are deleted first. `replaced` is about to be deleted and does not count.
 * @throws AppError `limited` at 25 keys.
 */
export function requireKeyQuota(tx: Tx, userId: string, now: Date, replaced = ''): void {
  const isOther = and(eq(apiKeys.userId, userId), ne(apiKeys.id, replaced))
  if (countRows(tx, apiKeys, isOther) < MAX_KEYS_PER_USER) return
  tx.delete(apiKeys)
    .where(and(isOther, lte(apiKeys.expiresAt, now)))
    .run()
  const current = countRows(tx, apiKeys, isOther)
  const message = `API key limit reached (max ${MAX_KEYS_PER_USER})`
  requireQuota({ current, limit: MAX_KEYS_PER_USER, message, extra: {} })
}

function readExpiry({ expiresInDays, expiresAt }: CreateKeyRequest, now: Date): Date | null {
  if (expiresInDays !== undefined) return addDays(now, expiresInDays)
  if (expiresAt === undefined) return null
  const time = new Date(expiresAt)
  if (time <= now) throw new AppError('invalid', 'expiresAt must be in the future')
  return time
}
