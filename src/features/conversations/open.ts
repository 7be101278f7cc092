import type { Egress } from '../../adapters/egress/egress.ts'
import type { AgentGateway } from '../../adapters/gateways/gateway.ts'
import { createMcpClients } from '../../adapters/mcp/client.ts'
import { createMcpOauth } from '../../adapters/mcp/oauth.ts'
import type { Config } from '../../core/config.ts'
import type { Base } from '../base.ts'
import type { AskingAgents } from './agent-messages/agent-messages.ts'
import { createTurns } from './chat/turns/turns.ts'
import type { McpRenewals } from './mcp-servers/authorizations.ts'
import type { McpListings } from './mcp-servers/use.ts'

type ConversationsSettings = Pick<Config, 'summarizer' | 'webhooks'>

/** Creates the state shared by the features of this domain. */
export function openConversations(
  base: Base,
  { summarizer, webhooks }: ConversationsSettings,
  { gateway, egress, egressOf }: { gateway: AgentGateway; egress: Egress; egressOf: (agentId: string) => Egress },
) {
  const asking: AskingAgents = new Map()
  const mcpListings: McpListings = new Map()
  const mcpRenewals: McpRenewals = new Map()
  return {
    webhooks,
    asking,
    mcpListings,
    mcpRenewals,
    /** Returns the clients of MCP servers, limited by the egress policy of an agent. */
    mcpClientsOf: (agentId: string) => createMcpClients(egressOf(agentId)),
    mcpOauth: createMcpOauth(egress, summarizer),
    turns: createTurns({ ...base, gateway }),
  }
}
