import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { agents } from './tables.ts'

const agentColumns = {
  id: agents.id,
  name: agents.name,
  model: agents.model,
  plan: agents.plan,
  aiProvider: agents.aiProvider,
  status: agents.status,
  startedAt: agents.startedAt,
  createdAt: agents.createdAt,
  updatedAt: agents.updatedAt,
}

/** Agents without their tokens and settings. */
export const personalAgents: PersonalList = {
  name: 'agents',
  tables: [agents],
  pages: (db, userId) =>
    inPages(db, {
      table: agents,
      condition: eq(agents.ownerId, userId),
      read: (isOnPage) => db.select(agentColumns).from(agents).where(isOnPage).all(),
    }),
}
