import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { isLimited, requireModelsOnly, toLimitColumns } from './limits.ts'
import type { ChangeKeyRequest } from './schemas.ts'
import { type ApiKeyRow, apiKeys } from './tables.ts'

/**
 * Renames a key, changes its limits, or disables and enables it; all of it counts with the next call that uses the key.
 * @throws AppError `not_found` for a missing key and for someone else's, `invalid` for limits of a key that may do more than
 * ask models.
 */
export async function changeKey(
  deps: { db: Db; clock: Clock },
  userId: string,
  id: string,
  { name, disabled, ...limits }: ChangeKeyRequest,
): Promise<ApiKeyRow> {
  const change = {
    ...toLimitColumns(limits),
    ...(name !== undefined && { name }),
    ...(disabled !== undefined && { disabledAt: disabled ? deps.clock.now() : null }),
  }
  return write(deps.db, (tx) => {
    const isOwn = and(eq(apiKeys.id, id), eq(apiKeys.userId, userId))
    const row = tx.update(apiKeys).set(change).where(isOwn).returning().get()
    if (!row) throw new AppError('not_found', 'Key not found')
    // What is thrown here takes the change back.
    if (isLimited(change)) requireModelsOnly(row)
    return row
  })
}
