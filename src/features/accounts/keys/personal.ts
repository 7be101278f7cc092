import { asc, eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { apiKeys } from './tables.ts'

/** Keys without what they open with. */
export const personalKeys = wholeList('keys', [apiKeys], (db, userId) =>
  db
    .select({
      id: apiKeys.id,
      name: apiKeys.name,
      prefix: apiKeys.prefix,
      scopes: apiKeys.scopes,
      createdAt: apiKeys.createdAt,
      lastUsedAt: apiKeys.lastUsedAt,
      expiresAt: apiKeys.expiresAt,
      disabledAt: apiKeys.disabledAt,
    })
    .from(apiKeys)
    .where(eq(apiKeys.userId, userId))
    .orderBy(asc(apiKeys.createdAt))
    .all(),
)
