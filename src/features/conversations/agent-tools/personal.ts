import { eq } from 'drizzle-orm'
import type { PersonalList } from '../../../db/personal-data.ts'
import { inPagesOfAgents } from '../../agents/registry/agents.ts'
import { agentToolSettings } from './tables.ts'

/** What agents may do. */
export const personalToolSettings: PersonalList = {
  name: 'toolSettings',
  tables: [agentToolSettings],
  pages: (db, userId) =>
    inPagesOfAgents(db, userId, function* (agentId) {
      yield db.select().from(agentToolSettings).where(eq(agentToolSettings.agentId, agentId)).all()
    }),
}
