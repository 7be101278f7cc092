import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import { AppError } from '../../../core/errors.ts'
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

/** Returns the gateway of an agent; null before it has a port, and while its machine is offline. */
export function findEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint | null {
  const port = agent.port ?? agent.tunnelPort
  if (port === null) return null
  const { gatewayToken } = openTokens(sealer, agent)
  const baseUrl = `http://${agent.host ?? '127.0.0.1'}:${port}`
  return { baseUrl, gatewayToken, kind: agent.kind, agentId: agent.id }
}

/** Returns the error for requests to an agent whose machine is offline; null for any other agent. */
export function findMachineProblem({ runtime, tunnelPort, downAt }: AgentRow): AppError | null {
  if (runtime !== 'machine' || tunnelPort !== null) return null
  const since = downAt ? ` since ${downAt.toISOString()}` : ''
  return new AppError('unavailable', `The machine of this agent is offline${since}`, { code: 'MACHINE_OFFLINE' })
}

/** Returns `findEndpoint` of an agent that runs, or sleeps and can be woken; null otherwise. */
export function findReachableEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint | null {
  return agent.status === 'running' || agent.status === 'sleeping' ? findEndpoint(sealer, agent) : null
}
