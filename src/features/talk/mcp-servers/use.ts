import type { McpClients, McpResult, McpTool } from '../../../adapters/mcp/client.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { claimApproval } from '../approvals/decide.ts'
import type { CallRequest } from './schemas.ts'
import { listServers, toEndpoint } from './servers.ts'
import type { McpServerRow } from './tables.ts'

/** A turn waits no longer for a server that does not say what it has. */
const LIST_TIMEOUT_MS = 3000
const CALL_TIMEOUT_MS = 60_000
const LISTED_FOR_MS = 5 * 60_000
/** A server that failed is not asked at every turn. */
const FAILED_FOR_MS = 60_000
const MAX_REMEMBERED = 1000

type Listed = { tools: McpTool[]; error: string | null; until: number }

/** What servers said of their tools a while ago, by server and its last change. One for the whole platform. */
export type McpListings = Map<string, Listed>

export type UseDeps = { db: Db; clock: Clock; sealer: Sealer; mcpClients: McpClients; mcpListings: McpListings }

/** The tools that an agent may use now, and the servers that could not say what they have. */
export async function listAgentMcpTools(deps: UseDeps, agentId: string) {
  const servers = listServers(deps.db, agentId).filter(({ enabled }) => enabled)
  const listed = await Promise.all(servers.map(async (server) => ({ server, ...(await listTools(deps, server)) })))
  return {
    tools: listed.flatMap(({ server, tools }) =>
      tools
        .filter(({ name }) => isAllowed(server, name))
        .map((tool) => ({ ...tool, server: server.name, needsApproval: !server.trustedTools.includes(tool.name) })),
    ),
    failed: listed.flatMap(({ server, error }) => (error === null ? [] : [{ server: server.name, error }])),
  }
}

/**
 * Uses a tool of a server for an agent; one that its owner does not trust only with the owner's approval of exactly this
 * use. @throws AppError `not_found` for a server or tool that the agent does not have, `forbidden` NOT_APPROVED without an
 * approval and `conflict` for one that is not good, `invalid`; as the client.
 */
export async function callMcpTool(deps: UseDeps, agentId: string, call: CallRequest): Promise<McpResult> {
  const server = listServers(deps.db, agentId).find(({ name, enabled }) => enabled && name === call.server)
  if (!server || !isAllowed(server, call.tool)) throw new AppError('not_found', 'The agent has no such tool')
  const input = parseObject(call.arguments)
  if (!server.trustedTools.includes(call.tool)) {
    if (!call.approvalId) throw new AppError('forbidden', 'The owner has not approved that', { code: 'NOT_APPROVED' })
    const use = { tool: `${server.name}/${call.tool}`.slice(0, 200), arguments: call.arguments }
    await claimApproval(deps, agentId, call.approvalId, use)
  }
  return deps.mcpClients.callTool(toEndpoint(deps.sealer, server), call.tool, input, CALL_TIMEOUT_MS)
}

/** Asks a server anew. @throws AppError as the client. */
export async function askTools(deps: Pick<UseDeps, 'sealer' | 'mcpClients'>, server: McpServerRow) {
  const tools = await deps.mcpClients.listTools(toEndpoint(deps.sealer, server), 10_000)
  return tools.map((tool) => ({
    ...tool,
    isAllowed: isAllowed(server, tool.name),
    isTrusted: server.trustedTools.includes(tool.name),
  }))
}

async function listTools({ clock, sealer, mcpClients, mcpListings }: UseDeps, server: McpServerRow): Promise<Listed> {
  const now = clock.now().getTime()
  const key = `${server.id} ${server.updatedAt.getTime()}`
  const known = mcpListings.get(key)
  if (known && known.until > now) return known
  const listed = await mcpClients.listTools(toEndpoint(sealer, server), LIST_TIMEOUT_MS).then(
    (tools) => ({ tools, error: null, until: now + LISTED_FOR_MS }),
    (error) => ({ tools: [], error: errorMessage(error), until: now + FAILED_FOR_MS }),
  )
  if (mcpListings.size >= MAX_REMEMBERED) mcpListings.clear()
  mcpListings.set(key, listed)
  return listed
}

function isAllowed({ allowedTools }: McpServerRow, name: string): boolean {
  return allowedTools === null || allowedTools.includes(name)
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new AppError('invalid', 'arguments must be the JSON text of an object')
}
