import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { SessionResponse } from '../../src/features/accounts/accounts/schemas.ts'
import {
  type ProvisionRequest,
  ProvisionResponse,
  WebAgentDetail,
  WebAgentList,
} from '../../src/features/agents/registry/schemas.ts'
import { ModelList } from '../../src/features/ai/gateway/schemas.ts'
import { PlatformMetrics } from '../../src/features/monitoring/metrics/schemas.ts'
import { ApiError, api, inPath, request, within } from '../api/request.ts'

export type AgentVerb = 'start' | 'stop' | 'restart'

/** The caller's agents, asked for again every five seconds while a page shows them. */
export const agentsQuery = queryOptions({ queryKey: ['agents'], queryFn: listAgents, refetchInterval: 5_000 })

/** One agent, asked for again every five seconds while a page shows it. */
export function agentQuery(agentId: string) {
  return queryOptions({
    queryKey: ['agents', agentId],
    queryFn: ({ signal }) => getAgent(agentId, signal),
    refetchInterval: 5_000,
  })
}

/** The models an agent can be created with. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => request(ModelList, api.GET('/api/models', { signal })),
  staleTime: 60_000,
})

/** What the caller's agents have done and used together. */
export const totalsQuery = queryOptions({
  queryKey: ['metrics'],
  queryFn: async ({ signal }) => (await request(PlatformMetrics, api.GET('/api/metrics', { signal }))).metrics,
  refetchInterval: 30_000,
})

/** Nobody's list is empty rather than refused, so an empty one is believed only while the session stands. */
async function listAgents({ signal }: { signal: AbortSignal }) {
  const { agents } = await request(WebAgentList, api.GET('/api/agents', { signal }))
  if (agents.length > 0) return agents
  const { user } = await request(SessionResponse, api.GET('/api/auth/session', { signal }))
  if (!user) throw new ApiError(401, 'Please sign in again.')
  return agents
}

/** An agent, and whether the payment for it was taken back. @throws ApiError 404 for an agent that is gone or someone else's. */
export async function getAgent(agentId: string, signal?: AbortSignal) {
  const { agent, paymentUndoneAt } = await request(
    WebAgentDetail,
    api.GET('/api/agents/{id}', { ...inPath({ id: agentId }), ...(signal && { signal }) }),
  )
  return { ...agent, paymentUndoneAt }
}

/** Creates the agent and returns at once; `agentEventsPath` tells how its deployment goes on. */
export async function provisionAgent(body: ProvisionRequest) {
  const headers = { prefer: 'respond-async' }
  return (await request(ProvisionResponse, api.POST('/api/agents/provision', { body, headers, fetch: within(30_000) })))
    .agent
}

/** Starts, stops or restarts; may take as long as a container needs. */
export function changeAgent(agentId: string, verb: AgentVerb) {
  const Changed = z.object({ success: z.literal(true), status: z.string() })
  return request(Changed, api.POST(`/api/agents/{id}/${verb}`, { ...inPath({ id: agentId }), fetch: within(60_000) }))
}

/** Removes the agent with everything it has stored. */
export function deleteAgent(agentId: string) {
  const Deleted = z.object({ id: z.string(), deleted: z.literal(true) })
  return request(Deleted, api.DELETE('/api/agents/{id}', { ...inPath({ id: agentId }), fetch: within(60_000) }))
}

/** Where the server sends an agent's `status` events. */
export function agentEventsPath(agentId: string): string {
  return `${agentPath(agentId)}/events`
}

/** The resource of one agent. */
export function agentPath(agentId: string): string {
  return `/api/agents/${encodeURIComponent(agentId)}`
}
