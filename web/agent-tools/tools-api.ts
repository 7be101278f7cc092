import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { AgentTools, type ToolsRequest } from '../../src/features/conversations/agent-tools/schemas.ts'
import {
  type AuthorizeRequest,
  EndedAuthorization,
  McpDirectory,
  McpServer,
  McpServerList,
  McpServerTools,
  StartedAuthorization,
  ToolResult,
} from '../../src/features/conversations/mcp-servers/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { queryClient } from '../api/query-client.ts'
import { api, inPath, request, within } from '../api/request.ts'

const Added = z.object({ server: McpServer })
const Removed = z.object({ success: z.literal(true) })

export function toolsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'tools'],
    queryFn: ({ signal }) =>
      request(AgentTools, api.GET('/api/agents/{id}/tools', { ...inPath({ id: agentId }), signal })),
  })
}

export async function changeTools(agentId: string, change: ToolsRequest): Promise<void> {
  const changed = await request(
    AgentTools,
    api.PUT('/api/agents/{id}/tools', { ...inPath({ id: agentId }), body: change }),
  )
  queryClient.setQueryData(toolsQuery(agentId).queryKey, changed)
}

export function serversQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'mcp-servers'],
    queryFn: async ({ signal }) =>
      (await request(McpServerList, api.GET('/api/agents/{id}/mcp-servers', { ...inPath({ id: agentId }), signal })))
        .servers,
  })
}

export function serverToolsQuery(agentId: string, id: string) {
  return queryOptions({
    queryKey: [...serversQuery(agentId).queryKey, id, 'tools'],
    queryFn: async ({ signal }) => {
      const answer = api.GET('/api/agents/{id}/mcp-servers/{serverId}/tools', {
        ...inPath({ id: agentId, serverId: id }),
        signal,
      })
      return (await request(McpServerTools, answer)).tools
    },
    retry: false,
  })
}

type NewServer =
  | { name: string; url: string; bearer?: string | undefined }
  | { name: string; command: string; args: string[]; environment: Record<string, string> }

export async function addServer(agentId: string, server: NewServer): Promise<McpServer> {
  const added = api.POST('/api/agents/{id}/mcp-servers', { ...inPath({ id: agentId }), body: server })
  const { server: row } = await request(Added, added)
  await reloadServers(agentId)
  return row
}

export const directoryQuery = queryOptions({
  queryKey: ['mcp-directory'],
  queryFn: async ({ signal }) => (await request(McpDirectory, api.GET('/api/mcp/directory', { signal }))).servers,
})

export function startAuthorization(agentId: string, id: string, body: AuthorizeRequest): Promise<StartedAuthorization> {
  return request(
    StartedAuthorization,
    api.POST('/api/agents/{id}/mcp-servers/{serverId}/authorization', {
      ...inPath({ id: agentId, serverId: id }),
      body,
      fetch: within(45_000),
    }),
  )
}

export async function disconnectServer(agentId: string, id: string) {
  const ended = await request(
    EndedAuthorization,
    api.DELETE('/api/agents/{id}/mcp-servers/{serverId}/authorization', inPath({ id: agentId, serverId: id })),
  )
  await reloadServers(agentId)
  return ended
}

type ServerChange = {
  enabled?: boolean
  trustedTools?: string[]
  allowedTools?: string[] | null
  acceptedTools?: Record<string, string>
}

export async function changeServer(agentId: string, id: string, change: ServerChange) {
  await request(
    Added,
    api.PATCH('/api/agents/{id}/mcp-servers/{serverId}', {
      ...inPath({ id: agentId, serverId: id }),
      body: change,
    }),
  )
  await reloadServers(agentId)
}

export async function removeServer(agentId: string, id: string): Promise<void> {
  await request(Removed, api.DELETE('/api/agents/{id}/mcp-servers/{serverId}', inPath({ id: agentId, serverId: id })))
  await reloadServers(agentId)
}

export function tryTool(agentId: string, id: string, tool: string, input: Record<string, unknown>) {
  const body = { tool, arguments: input }
  return request(
    ToolResult,
    api.POST('/api/agents/{id}/mcp-servers/{serverId}/try', {
      ...inPath({ id: agentId, serverId: id }),
      body,
      fetch: within(45_000),
    }),
  )
}

/** Reloads the list only: tools did not change, and a deleted server cannot be asked. */
function reloadServers(agentId: string): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: serversQuery(agentId).queryKey, exact: true })
}
