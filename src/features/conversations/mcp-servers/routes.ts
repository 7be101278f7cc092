import { Hono, type MiddlewareHandler } from 'hono'
import type { McpCommands } from '../../../core/agents/mcp.ts'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import {
  AddServerRequest,
  CallRequest,
  ChangeServerRequest,
  McpServerList,
  McpServerTools,
  OfferedTools,
  OneMcpServer,
  OwnCommands,
  PinnedTools,
  PinToolsRequest,
  ToolResult,
  TryRequest,
} from './schemas.ts'
import {
  addServer,
  changeServer,
  type EndServerDeps,
  getServer,
  listCommands,
  listServers,
  pinOwnTools,
  removeServer,
  toMcpServer,
} from './servers.ts'
import { askTools, callMcpTool, listAgentMcpTools, tryTool, type UseDeps } from './use.ts'

/**
 * Routes for agents' MCP servers. Changes need a session or a key without limits, because servers extend the agent's
 * abilities.
 */
export function mcpServersWeb(deps: UseDeps & EndServerDeps, owner: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/mcp-servers',
    endpoint({
      summary: 'Lists the MCP servers of an agent',
      tag: 'MCP servers',
      responses: { 200: McpServerList },
      errors: ['not_found'],
    }),
    owner,
    (c) => {
      const { id } = getAgent(deps.db, c.var.principal, c.req.param('id'))
      const servers = listServers(deps.db, id).map((row) => toMcpServer(deps, row))
      return c.json({ servers } satisfies McpServerList)
    },
  )

  app.post(
    '/api/agents/:id/mcp-servers',
    endpoint({
      summary: 'Adds an MCP server to an agent',
      tag: 'MCP servers',
      responses: { 201: OneMcpServer },
      errors: ['not_found', 'conflict', 'limited'],
    }),
    owner,
    validate('json', AddServerRequest),
    async (c) => {
      const row = await addServer(deps, c.var.principal, c.req.param('id'), c.req.valid('json'))
      return c.json({ server: toMcpServer(deps, row) }, 201)
    },
  )

  app.patch(
    '/api/agents/:id/mcp-servers/:serverId',
    endpoint({
      summary: 'Changes an MCP server',
      tag: 'MCP servers',
      responses: { 200: OneMcpServer },
      errors: ['not_found', 'internal'],
    }),
    owner,
    validate('json', ChangeServerRequest),
    async (c) => {
      const { id: agentId, serverId: id } = c.req.param()
      const row = await changeServer(deps, c.var.principal, { agentId, id }, c.req.valid('json'))
      return c.json({ server: toMcpServer(deps, row) })
    },
  )

  app.delete(
    '/api/agents/:id/mcp-servers/:serverId',
    endpoint({
      summary: 'Removes an MCP server',
      tag: 'MCP servers',
      responses: { 200: Done },
      errors: ['not_found', 'internal'],
    }),
    owner,
    async (c) => {
      const { id, serverId } = c.req.param()
      await removeServer(deps, c.var.principal, id, serverId)
      return c.json({ success: true })
    },
  )

  app.get(
    '/api/agents/:id/mcp-servers/:serverId/tools',
    endpoint({
      summary: 'Lists the tools of an MCP server',
      tag: 'MCP servers',
      responses: { 200: McpServerTools },
      errors: ['not_found', 'conflict', 'unavailable', 'upstream_failed', 'upstream_timeout'],
    }),
    owner,
    async (c) => {
      const { id, serverId } = c.req.param()
      const server = getServer(deps.db, c.var.principal, id, serverId)
      // A sleeping agent has to wake up and may have to download the server.
      c.env.keepOpen?.(c.req.raw)
      const tools = await askTools(deps, server)
      return c.json({ tools } satisfies McpServerTools)
    },
  )

  app.post(
    '/api/agents/:id/mcp-servers/:serverId/try',
    endpoint({
      summary: 'Calls a tool of an MCP server as a test',
      tag: 'MCP servers',
      responses: { 200: ToolResult },
      errors: ['not_found', 'conflict', 'unavailable', 'upstream_failed', 'upstream_timeout'],
    }),
    owner,
    validate('json', TryRequest),
    async (c) => {
      const { id, serverId } = c.req.param()
      const server = getServer(deps.db, c.var.principal, id, serverId)
      c.env.keepOpen?.(c.req.raw)
      return c.json(await tryTool(deps, server, c.req.valid('json')))
    },
  )

  return app
}

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

  app.put(
    '/v1/mcp/commands/:name/pins',
    endpoint({
      summary: 'Remembers newly listed tools of a command server',
      tag: 'MCP servers',
      responses: { 200: PinnedTools },
      errors: ['not_found'],
    }),
    agent,
    validate('json', PinToolsRequest),
    async (c) => {
      const { toolPins } = c.req.valid('json')
      return c.json({ toolPins: await pinOwnTools(deps.db, c.var.agentId, c.req.param('name'), toolPins) })
    },
  )

  app.post(
    '/v1/mcp/call',
    endpoint({
      summary: 'Calls an MCP tool',
      tag: 'MCP servers',
      responses: { 200: ToolResult },
      errors: ['forbidden', 'not_found', 'conflict', 'unavailable', 'upstream_failed', 'upstream_timeout'],
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
