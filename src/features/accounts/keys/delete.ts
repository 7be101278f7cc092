import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { apiKeys } from './tables.ts'

/**
 * Deletes a key; it stops working with this call.
 * @throws AppError `not_found` for a missing key and for someone else's.
 */
export async function deleteKey(db: Db, userId: string, id: string): Promise<void> {
  const { changes } = await write(db, (tx) =>
    tx
      .delete(apiKeys)
      .where(and(eq(apiKeys.id, id), eq(apiKeys.userId, userId)))
      .run(),
  )
  if (changes === 0) throw new AppError('not_found', 'Key not found')
}

/** Deletes all keys of a user, in the caller's closure. @returns how many there were. */
export function deleteAllKeys(tx: Tx, userId: string): number {
  return tx.delete(apiKeys).where(eq(apiKeys.userId, userId)).run().changes
}
