import { Hono } from 'hono'
import type { McpCommands } from '../../../core/agents/mcp.ts'
import { endpoint } from '../../../http/endpoint.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import { CallRequest, OfferedTools, OwnCommands, ToolResult } from './schemas.ts'
import { listCommands } from './servers.ts'
import { callMcpTool, listAgentMcpTools, type UseDeps } from './use.ts'

/**
 * MCP servers as agents use them, with their own token: the platform speaks to the servers, so that no agent holds what they
 * are shown, and none reaches an address that it may not.
 */
export function mcpServersBackend(deps: UseDeps & { callers: CallerFinder }) {
  const app = new Hono<AgentCallerEnv>()
  const agent = requireAgent(deps.callers)

  app.get(
    '/v1/mcp/tools',
    endpoint({
      summary: 'Lists the MCP tools that an agent may use',
      tag: 'MCP servers',
      responses: { 200: OfferedTools },
    }),
    agent,
    async (c) => c.json(await listAgentMcpTools(deps, c.var.agentId)),
  )

  app.get(
    '/v1/mcp/commands',
    endpoint({
      summary: 'Lists the MCP servers that an agent starts itself',
      tag: 'MCP servers',
      responses: { 200: OwnCommands },
      errors: ['not_found'],
    }),
    agent,
    (c) => {
      const row = getAgent(deps.db, { kind: 'operator' }, c.var.agentId)
      return c.json({ servers: listCommands(deps, row) } satisfies McpCommands)
    },
  )

  app.post(
    '/v1/mcp/call',
    endpoint({
      summary: 'Calls an MCP tool',
      tag: 'MCP servers',
      responses: { 200: ToolResult },
      errors: ['not_found', 'conflict'],
    }),
    agent,
    validate('json', CallRequest),
    async (c) => {
      c.env.keepOpen?.(c.req.raw)
      return c.json(await callMcpTool(deps, c.var.agentId, c.req.valid('json')))
    },
  )

  return app
}
