import { and, desc, eq, ne } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { requireEndpoint } from '../chat/turns/ask.ts'

const MAX_LISTED = 100

/** Waiting agents, by the agent that asks. One map for the whole platform. */
export type AskingAgents = Map<string, string>

export function listSiblings(db: Db, agentId: string) {
  const { ownerId } = getAgentRow(db, agentId)
  if (ownerId === null) return []
  const { id, name, status, specialization } = agents
  return db
    .select({ id, name, status, specialization })
    .from(agents)
    .where(and(eq(agents.ownerId, ownerId), ne(agents.id, agentId)))
    .orderBy(desc(agents.createdAt))
    .limit(MAX_LISTED)
    .all()
}

/**
 * Sends a message to another agent of the same owner and returns its reply. Each pair of agents has its own
 * conversation.
 * @throws AppError `not_found` for another owner's agent; `conflict` when it does not run, when the first agent already
 * waits for an answer, or when the other agent waits for the first, directly or through others; the gateway's errors.
 */
export async function askAgent(
  deps: Base & { gateway: Pick<AgentGateway, 'chat'>; asking: AskingAgents },
  fromId: string,
  toId: string,
  message: string,
  signal: AbortSignal,
): Promise<string> {
  const from = getAgentRow(deps.db, fromId)
  const isSibling = and(eq(agents.id, toId), eq(agents.ownerId, from.ownerId ?? ''), ne(agents.id, fromId))
  const to = deps.db.select().from(agents).where(isSibling).get()
  if (!to) throw new AppError('not_found', 'Agent not found')
  const endpoint = requireEndpoint(deps.sealer, to)
  requireNoCircle(deps.asking, fromId, toId)
  deps.asking.set(fromId, toId)
  try {
    const request = {
      sessionKey: `agent:${fromId}`,
      message: `${from.name}, another agent of your owner, says:\n\n${message}`,
    }
    return await deps.gateway.chat(endpoint, request, signal)
  } finally {
    deps.asking.delete(fromId)
  }
}

/** Prevents agents from waiting for each other forever. */
function requireNoCircle(asking: AskingAgents, fromId: string, toId: string): void {
  if (asking.has(fromId)) throw new AppError('conflict', 'This agent waits for the answer of another already')
  for (let at: string | undefined = toId; at !== undefined; at = asking.get(at)) {
    if (at === fromId) throw new AppError('conflict', 'That agent waits for an answer of this one')
  }
}

function getAgentRow(db: Db, id: string): AgentRow {
  const agent = db.select().from(agents).where(eq(agents.id, id)).get()
  if (!agent) throw new AppError('not_found', 'Agent not found')
  return agent
}
