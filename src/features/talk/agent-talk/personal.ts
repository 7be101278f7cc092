import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { agentCredentials, agentSkills } from './tables.ts'

/** What agents can do. */
export const personalSkills = wholeList('skills', [agentSkills], (db, userId) =>
  db
    .select({ id: agentSkills.skillId, enabled: agentSkills.enabled, updatedAt: agentSkills.updatedAt })
    .from(agentSkills)
    .where(eq(agentSkills.userId, userId))
    .all(),
)

/** Which credentials agents were given, without what they say. */
export const personalCredentials = wholeList('credentials', [agentCredentials], (db, userId) =>
  db
    .select({ key: agentCredentials.key, updatedAt: agentCredentials.updatedAt })
    .from(agentCredentials)
    .where(eq(agentCredentials.userId, userId))
    .all(),
)
