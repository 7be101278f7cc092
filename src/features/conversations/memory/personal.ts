import type { PersonalList } from '../../../db/personal-data.ts'
import { inPagesOfAgents } from '../../agents/registry/agents.ts'
import { memoryInPages } from './read.ts'
import { agentMemory } from './tables.ts'

/** What agents remember. */
export const personalMemory: PersonalList = {
  name: 'memory',
  tables: [agentMemory],
  pages: (db, userId) =>
    inPagesOfAgents(db, userId, function* (agentId) {
      for (const rows of memoryInPages(db, agentId)) {
        yield rows.map(({ sequence: _, value, ...kept }) => ({ ...kept, value: JSON.parse(value) }))
      }
    }),
}
