import { count, eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { newId, randomText } from '../../core/ids.ts'
import { sha256 } from '../../core/secrets.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { CreateKeyRequest } from './schemas.ts'
import { type ApiKeyRow, apiKeys } from './tables.ts'

/** Characters of a key that are kept in the open: they find its row and let its owner recognise it. */
export const PREFIX_LENGTH = 10
const MAX_KEYS_PER_USER = 25
/** 43 of 62 characters: 256 bits, so SHA-256 is enough to keep them by. */
const RANDOM_LENGTH = 43

/**
 * Makes a key for `userId`. The raw key is in the result and nowhere else.
 * @throws AppError `limited` at 25 keys.
 */
export async function createKey(
  deps: { db: Db; clock: Clock },
  userId: string,
  request: CreateKeyRequest,
): Promise<{ row: ApiKeyRow; key: string }> {
  const key = `sk_${randomText(RANDOM_LENGTH)}`
  const row = await write(deps.db, (tx) => {
    requireRoom(tx, userId)
    return tx
      .insert(apiKeys)
      .values({
        id: newId('key'),
        userId,
        name: request.name,
        prefix: key.slice(0, PREFIX_LENGTH),
        hash: sha256(key),
        createdAt: deps.clock.now(),
      })
      .returning()
      .get()
  })
  return { row, key }
}

function requireRoom(tx: Tx, userId: string): void {
  const held = tx.select({ keys: count() }).from(apiKeys).where(eq(apiKeys.userId, userId)).get()?.keys ?? 0
  if (held >= MAX_KEYS_PER_USER) throw new AppError('limited', `API key limit reached (max ${MAX_KEYS_PER_USER})`)
}
