import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { emailTokens } from '../users/tables.ts'

/** Links that were mailed and are still good. */
export const personalMailedLinks = wholeList('mailedLinks', [emailTokens], (db, userId) =>
  db
    .select({ purpose: emailTokens.purpose, email: emailTokens.email, expiresAt: emailTokens.expiresAt })
    .from(emailTokens)
    .where(eq(emailTokens.userId, userId))
    .all(),
)
