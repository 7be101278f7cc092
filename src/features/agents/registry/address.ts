import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { openTokens } from './agents.ts'
import type { AgentRow } from './tables.ts'

/** Agents have the host name `<id>.<agentsDomain>`, over TLS when the web app is. */
export type AgentAddresses = { agentsDomain: string; isHttps: boolean; webPort: number }

export function toSubdomain(id: string, { agentsDomain }: AgentAddresses): string {
  return `${id}.${agentsDomain}`
}

export function toUrl(id: string, addresses: AgentAddresses): string {
  return `https://${toSubdomain(id, addresses)}`
}

/** Returns the origin of an agent's pages. */
export function toAgentOrigin(id: string, addresses: AgentAddresses): string {
  return toWebsocketUrl(id, addresses).replace(/^ws/, 'http')
}

/** Returns the URL of the agent's gateway through the web port. */
export function toWebsocketUrl(id: string, addresses: AgentAddresses): string {
  const host = toSubdomain(id, addresses)
  return addresses.isHttps ? `wss://${host}` : `ws://${host}:${addresses.webPort}`
}

/** Returns the gateway of an agent; null before it has a port. */
export function findEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint | null {
  if (agent.port === null) return null
  const { gatewayToken } = openTokens(sealer, agent)
  const baseUrl = `http://${agent.host ?? '127.0.0.1'}:${agent.port}`
  return { baseUrl, gatewayToken, kind: agent.kind, agentId: agent.id }
}

/** Returns `findEndpoint` of an agent that runs, or sleeps and can be woken; null otherwise. */
export function findReachableEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint | null {
  return agent.status === 'running' || agent.status === 'sleeping' ? findEndpoint(sealer, agent) : null
}
