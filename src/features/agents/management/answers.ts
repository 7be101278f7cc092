import { type AgentAddresses, toSubdomain, toUrl } from '../registry/address.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { CreatedAgent, UpdatedAgent } from './schemas.ts'

/** The flat answer to a creation (Interface 4.4), the same on both faces. */
export function toCreated(agent: AgentRow, addresses: AgentAddresses): CreatedAgent {
  return {
    id: agent.id,
    name: agent.name,
    agentId: agent.id,
    status: agent.status,
    subdomain: toSubdomain(agent.id, addresses),
    url: toUrl(agent.id, addresses),
    createdAt: agent.createdAt.toISOString(),
  }
}

/** The flat answer to a change (Interface 4.4); `status` in the words of the face that answers (decisions, 19). */
export function toUpdated(agent: AgentRow, addresses: AgentAddresses, status: string): UpdatedAgent {
  return {
    id: agent.id,
    plan: agent.plan,
    aiProvider: agent.aiProvider,
    subdomain: toSubdomain(agent.id, addresses),
    status,
    message: 'Agent updated',
  }
}
