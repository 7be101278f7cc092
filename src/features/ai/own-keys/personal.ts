import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { providerKeys } from './tables.ts'

/** For which providers there is a key of one’s own, without the keys. */
export const personalProviderKeys = wholeList('providerKeys', [providerKeys], (db, userId) =>
  db
    .select({ provider: providerKeys.provider, createdAt: providerKeys.createdAt })
    .from(providerKeys)
    .where(eq(providerKeys.userId, userId))
    .all(),
)
