import { z } from 'zod'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import type { McpClients } from '../../../adapters/mcp/client.ts'
import { toAskedTool } from '../../../core/agents/asked-tool.ts'
import { isTrustedTool, type McpResult, type McpTool } from '../../../core/agents/mcp.ts'
import { fingerprintOf, isChangedTool, toPins } from '../../../core/agents/tool-pins.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { findReachableEndpoint } from '../../agents/registry/address.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { claimApproval } from '../approvals/decide.ts'
import { type AuthorizationDeps, toConnectUrl } from './authorizations.ts'
import type { CallRequest } from './schemas.ts'
import { listServers, pinTools, toEndpoint } from './servers.ts'
import type { McpServerRow } from './tables.ts'

/** Longest wait of a turn for a server's tools. */
const LIST_TIMEOUT_MS = 3000
const CALL_TIMEOUT_MS = 60_000
const ASK_TIMEOUT_MS = 10_000
const TRY_TIMEOUT_MS = 30_000
const LISTED_FOR_MS = 5 * 60_000
/** Keeps a failed server from being asked in every turn. */
const FAILED_FOR_MS = 60_000
const MAX_REMEMBERED = 1000

const Input = z.record(z.string(), z.unknown())

/** `wantsOwner`: the server refuses until the owner connects it. */
type Listed = { tools: McpTool[]; error: string | null; wantsOwner: boolean; until: number }

/** Recently listed tools, by server and its last change. One map for the whole platform. */
export type McpListings = Map<string, Listed>

export type UseDeps = AuthorizationDeps & {
  mcpClientsOf: (agentId: string) => McpClients
  mcpListings: McpListings
  gateway: Pick<AgentGateway, 'listMcpTools' | 'callMcpTool'>
}

/** Lists the tools that an agent may use through the platform, and the servers that failed to answer. */
export async function listAgentMcpTools(deps: UseDeps, agentId: string) {
  const servers = listServers(deps.db, agentId).filter(({ enabled, command }) => enabled && command === null)
  const listed = await Promise.all(servers.map((server) => listPinned(deps, server)))
  return {
    tools: listed.flatMap(({ server, tools }) =>
      tools
        .filter(({ name }) => isAllowed(server, name))
        .map((tool) => ({ ...tool, server: server.name, needsApproval: !isTrusted(server, tool) })),
    ),
    failed: listed.flatMap(({ server, error, wantsOwner }) => {
      const connectUrl = wantsOwner ? toConnectUrl(deps.appUrl, agentId) : null
      return error === null ? [] : [{ server: server.name, error, connectUrl }]
    }),
  }
}

/**
 * Calls a server's tool for an agent. An untrusted tool needs the owner's approval of exactly this call.
 * @throws AppError `not_found` for a server or tool that the agent does not have, `forbidden` NOT_APPROVED without an
 * approval, `conflict` for an invalid one, `invalid`; the client's errors.
 */
export async function callMcpTool(deps: UseDeps, agentId: string, call: CallRequest): Promise<McpResult> {
  const server = listServers(deps.db, agentId).find(({ name, enabled }) => enabled && name === call.server)
  const endpoint = server && toEndpoint(deps, server)
  if (!endpoint || !isAllowed(server, call.tool)) throw new AppError('not_found', 'The agent has no such tool')
  const input = Input.parse(JSON.parse(call.arguments))
  if (!(await needsNoApproval(deps, server, call.tool))) {
    if (!call.approvalId) throw new AppError('forbidden', 'The owner has not approved that', { code: 'NOT_APPROVED' })
    const use = { tool: toAskedTool(server.name, call.tool), arguments: call.arguments }
    await claimApproval(deps, agentId, call.approvalId, use)
  }
  return deps.mcpClientsOf(agentId).callTool(endpoint, call.tool, input, CALL_TIMEOUT_MS)
}

/** Returns whether a tool needs no approval; a tool that the server does not list needs one. */
async function needsNoApproval(deps: UseDeps, listed: McpServerRow, name: string): Promise<boolean> {
  const { server, tools } = await listPinned(deps, listed)
  return tools.some((tool) => tool.name === name && isTrusted(server, tool))
}

/** A changed description may be an attack on the model, so the trust in the former one does not cover it. */
function isTrusted({ trustedTools, toolPins }: McpServerRow, tool: McpTool): boolean {
  return isTrustedTool(trustedTools, tool) && !isChangedTool(toolPins, tool)
}

/** Lists the tools of a server, which comes back with the pins of new tools. */
async function listPinned(deps: UseDeps, server: McpServerRow): Promise<Listed & { server: McpServerRow }> {
  const listed = await listTools(deps, server)
  return { ...listed, server: { ...server, toolPins: await pinTools(deps.db, server.id, toPins(listed.tools)) } }
}

/**
 * Lists a server's tools without the cache; the agent is asked for a server that it starts.
 * @throws AppError of the client and the gateway.
 */
export async function askTools(deps: UseDeps, server: McpServerRow) {
  const endpoint = toEndpoint(deps, server)
  const tools = endpoint
    ? await deps.mcpClientsOf(server.agentId).listTools(endpoint, ASK_TIMEOUT_MS)
    : await deps.gateway.listMcpTools(requireAddress(deps, server), server.name)
  const toolPins = await pinTools(deps.db, server.id, toPins(tools))
  return tools.map((tool) => ({
    ...tool,
    isAllowed: isAllowed(server, tool.name),
    isTrusted: isTrusted({ ...server, toolPins }, tool),
    isChanged: isChangedTool(toolPins, tool),
    fingerprint: fingerprintOf(tool),
  }))
}

/** Calls a tool for the owner. @throws AppError as `askTools`. */
export function tryTool(
  deps: UseDeps,
  server: McpServerRow,
  use: { tool: string; arguments: Record<string, unknown> },
) {
  const endpoint = toEndpoint(deps, server)
  if (endpoint) return deps.mcpClientsOf(server.agentId).callTool(endpoint, use.tool, use.arguments, TRY_TIMEOUT_MS)
  return deps.gateway.callMcpTool(requireAddress(deps, server), { server: server.name, ...use })
}

/** @throws AppError `conflict` AGENT_NOT_RUNNING. */
function requireAddress({ db, sealer }: UseDeps, { agentId }: McpServerRow): AgentEndpoint {
  const endpoint = findReachableEndpoint(sealer, getAgent(db, { kind: 'operator' }, agentId))
  if (endpoint) return endpoint
  const message = 'The agent starts this server, and is not running'
  throw new AppError('conflict', message, { code: 'AGENT_NOT_RUNNING' })
}

async function listTools(deps: UseDeps, server: McpServerRow): Promise<Listed> {
  const { clock, mcpClientsOf, mcpListings } = deps
  const now = clock.now().getTime()
  const key = `${server.id} ${server.updatedAt.getTime()}`
  const known = mcpListings.get(key)
  if (known && known.until > now) return known
  const endpoint = toEndpoint(deps, server)
  if (!endpoint) throw new AppError('internal', 'A server without an address is asked by its agent')
  const listed = await mcpClientsOf(server.agentId)
    .listTools(endpoint, LIST_TIMEOUT_MS)
    .then(
      (tools) => ({ tools, error: null, wantsOwner: false, until: now + LISTED_FOR_MS }),
      (error) => ({ tools: [], error: errorMessage(error), wantsOwner: wantsOwner(error), until: now + FAILED_FOR_MS }),
    )
  if (mcpListings.size >= MAX_REMEMBERED) mcpListings.clear()
  mcpListings.set(key, listed)
  return listed
}

function wantsOwner(error: unknown): boolean {
  return error instanceof AppError && error.extra.code === 'MCP_AUTHORIZATION_REQUIRED'
}

function isAllowed({ allowedTools }: McpServerRow, name: string): boolean {
  return allowedTools === null || allowedTools.includes(name)
}
