import { eq } from 'drizzle-orm'
import { bytesOf, inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { inPagesOfAgents } from '../../agents/registry/agents.ts'
import { approvals } from './tables.ts'

/** What agents asked before they did it, and how that was decided. */
export const personalApprovals: PersonalList = {
  name: 'approvals',
  tables: [approvals],
  pages: (db, userId) =>
    inPagesOfAgents(db, userId, (agentId) =>
      inPages(db, {
        table: approvals,
        condition: eq(approvals.agentId, agentId),
        sizeBytes: bytesOf(approvals.arguments),
        read: (isOnPage) =>
          db
            .select()
            .from(approvals)
            .where(isOnPage)
            .all()
            .map(({ sequence: _, argumentsHash: _hash, ...approval }) => approval),
      }),
    ),
}
