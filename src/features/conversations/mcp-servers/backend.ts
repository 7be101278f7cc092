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
 * Routes through which agents use MCP servers. The platform calls remote servers, so that agents neither hold their
 * secrets nor reach forbidden addresses.
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
