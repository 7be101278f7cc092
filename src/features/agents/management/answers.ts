import { type AgentAddresses, toSubdomain, toUrl } from '../registry/address.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { CreatedAgent, UpdatedAgent } from './schemas.ts'

/** Builds the response to a creation, the same on the web and the backend API. */
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

/** Builds the response to a change. `status` uses the vocabulary of the API that responds. */
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
