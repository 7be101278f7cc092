import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { openTokens } from './agents.ts'
import type { AgentRow } from './tables.ts'

/** Where agents are reached: `<id>.<agentsDomain>` (Interface 2; decisions, 51), over TLS when the web app is. */
export type AgentAddresses = { agentsDomain: string; isHttps: boolean; webPort: number }

export function toSubdomain(id: string, { agentsDomain }: AgentAddresses): string {
  return `${id}.${agentsDomain}`
}

export function toUrl(id: string, addresses: AgentAddresses): string {
  return `https://${toSubdomain(id, addresses)}`
}

/** The origin of whatever pages the agent serves, as browsers name it. */
export function toAgentOrigin(id: string, addresses: AgentAddresses): string {
  return toWebsocketUrl(id, addresses).replace(/^ws/, 'http')
}

/** The address of the agent's gateway through the web port. */
export function toWebsocketUrl(id: string, addresses: AgentAddresses): string {
  const host = toSubdomain(id, addresses)
  return addresses.isHttps ? `wss://${host}` : `ws://${host}:${addresses.webPort}`
}

/** Where `agent` listens and how it is spoken to; null before it has a port. */
export function findEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint | null {
  if (agent.port === null) return null
  const { gatewayToken } = openTokens(sealer, agent)
  const baseUrl = `http://${agent.host ?? '127.0.0.1'}:${agent.port}`
  return { baseUrl, gatewayToken, kind: agent.kind, agentId: agent.id }
}

/** As `findEndpoint`, of an agent that can be spoken to: it runs, or it sleeps and is woken by the gateway. Null for others. */
export function findReachableEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint | null {
  return agent.status === 'running' || agent.status === 'sleeping' ? findEndpoint(sealer, agent) : null
}
