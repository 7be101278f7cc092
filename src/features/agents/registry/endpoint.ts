import type { AgentEndpoint } from '../../../adapters/gateways/endpoint.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { openTokens } from './create.ts'
import type { AgentRow } from './tables.ts'

/** Where `agent` listens and how it is spoken to; null before it has a port. */
export function findEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint | null {
  if (agent.port === null) return null
  const { gatewayToken } = openTokens(sealer, agent)
  const baseUrl = `http://${agent.host ?? '127.0.0.1'}:${agent.port}`
  return { baseUrl, gatewayToken, kind: agent.kind, agentId: agent.id }
}

/** As `findEndpoint`, of an agent that can be spoken to: it runs, or it sleeps and is woken by the gateway. Null for others. */
export function findAddress(sealer: Sealer, agent: AgentRow): AgentEndpoint | null {
  return agent.status === 'running' || agent.status === 'sleeping' ? findEndpoint(sealer, agent) : null
}
