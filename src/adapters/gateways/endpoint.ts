import type { AgentKind } from '../runtimes/contract/runtime.ts'

/**
 * Where an agent listens, without a trailing slash, the token that owns it, and which program it is. `agentId` names the
 * agent for whoever has to wake it first; those who look at what runs leave it out.
 */
export type AgentEndpoint = { baseUrl: string; gatewayToken: string; kind: AgentKind; agentId?: string }
