import { and, desc, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { type ApiKeyRow, apiKeys } from './tables.ts'

/** All keys of a user, newest first. */
export function listKeys(db: Db, userId: string): ApiKeyRow[] {
  return db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.userId, userId))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
    .all()
}

/** @throws AppError `not_found` for a missing key and for someone else's. */
export function getKey(db: Db, userId: string, id: string): ApiKeyRow {
  const row = db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), eq(apiKeys.userId, userId)))
    .get()
  if (!row) throw new AppError('not_found', 'Key not found')
  return row
}
