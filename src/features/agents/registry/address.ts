/** Where agents are reached: `<id>.<agentsDomain>` (Interface 2; decisions, 51), over TLS when the web app is. */
export type AgentAddresses = { agentsDomain: string; isHttps: boolean; webPort: number }

export function toSubdomain(id: string, { agentsDomain }: AgentAddresses): string {
  return `${id}.${agentsDomain}`
}

export function toUrl(id: string, addresses: AgentAddresses): string {
  return `https://${toSubdomain(id, addresses)}`
}

/** The origin of whatever pages the agent serves, as browsers name it. */
export function toOrigin(id: string, addresses: AgentAddresses): string {
  return toWebsocketUrl(id, addresses).replace(/^ws/, 'http')
}

/** The address of the agent's gateway through the web port. */
export function toWebsocketUrl(id: string, addresses: AgentAddresses): string {
  const host = toSubdomain(id, addresses)
  return addresses.isHttps ? `wss://${host}` : `ws://${host}:${addresses.webPort}`
}
