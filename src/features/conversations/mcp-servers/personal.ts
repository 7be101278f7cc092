import { eq } from 'drizzle-orm'
import type { PersonalList } from '../../../db/personal-data.ts'
import { inPagesOfAgents } from '../../agents/registry/agents.ts'
import { agentMcpServers } from './tables.ts'

/** The MCP servers of agents, without what they are shown. */
export const personalMcpServers: PersonalList = {
  name: 'mcpServers',
  tables: [agentMcpServers],
  pages: (db, userId) =>
    inPagesOfAgents(db, userId, function* (agentId) {
      const ofAgent = eq(agentMcpServers.agentId, agentId)
      const rows = db.select().from(agentMcpServers).where(ofAgent).all()
      yield rows.map(({ sealedHeaders: _, ...server }) => server)
    }),
}
