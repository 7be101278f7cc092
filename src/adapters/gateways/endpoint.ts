import type { AgentKind } from '../runtimes/contract/runtime.ts'

/** Where an agent listens, without a trailing slash, the token that owns it, and which program it is. */
export type AgentEndpoint = { baseUrl: string; gatewayToken: string; kind: AgentKind }
