import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { agentCredentials } from './tables.ts'

/** Which credentials agents were given, without what they say. */
export const personalCredentials = wholeList('credentials', [agentCredentials], (db, userId) =>
  db
    .select({ key: agentCredentials.key, updatedAt: agentCredentials.updatedAt })
    .from(agentCredentials)
    .where(eq(agentCredentials.userId, userId))
    .all(),
)
