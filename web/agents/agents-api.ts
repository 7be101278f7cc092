import { queryOptions, useMutation } from '@tanstack/react-query'
import { z } from 'zod'
import { SessionResponse } from '../../src/features/accounts/registration/schemas.ts'
import {
  type AgentStatus,
  type ProvisionRequest,
  ProvisionResponse,
  WebAgentDetail,
  WebAgentList,
} from '../../src/features/agents/registry/schemas.ts'
import { ModelList } from '../../src/features/ai/gateway/schemas.ts'
import { PlatformMetrics } from '../../src/features/monitoring/metrics/schemas.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { ApiError, api, inPath, request, within } from '../api/request.ts'

export type AgentVerb = 'start' | 'stop' | 'restart'

export const agentsQuery = queryOptions({ queryKey: ['agents'], queryFn: listAgents, refetchInterval: 5_000 })

export function agentQuery(agentId: string) {
  return queryOptions({
    queryKey: ['agents', agentId],
    queryFn: ({ signal }) => getAgent(agentId, signal),
    refetchInterval: 5_000,
  })
}

export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => request(ModelList, api.GET('/api/models', { signal })),
  staleTime: 60_000,
})

export const totalsQuery = queryOptions({
  queryKey: ['metrics'],
  queryFn: async ({ signal }) => (await request(PlatformMetrics, api.GET('/api/metrics', { signal }))).metrics,
  refetchInterval: 30_000,
})

/**
 * A signed-out caller gets an empty list instead of 401, so an empty list is believed only while the session is
 * valid.
 */
async function listAgents({ signal }: { signal: AbortSignal }) {
  const { agents } = await request(WebAgentList, api.GET('/api/agents', { signal }))
  if (agents.length > 0) return agents
  const { user } = await request(SessionResponse, api.GET('/api/auth/session', { signal }))
  if (!user) throw new ApiError(401, 'Please sign in again.')
  return agents
}

/** @throws ApiError 404 for a deleted agent or someone else's. */
export async function getAgent(agentId: string, signal?: AbortSignal) {
  const { agent, paymentUndoneAt } = await request(
    WebAgentDetail,
    api.GET('/api/agents/{id}', { ...inPath({ id: agentId }), ...(signal && { signal }) }),
  )
  return { ...agent, paymentUndoneAt }
}

/** Returns at once; `agentEventsPath` reports the progress. */
export async function provisionAgent(body: ProvisionRequest) {
  const headers = { prefer: 'respond-async' }
  return (await request(ProvisionResponse, api.POST('/api/agents/provision', { body, headers, fetch: within(30_000) })))
    .agent
}

export function changeAgent(agentId: string, verb: AgentVerb) {
  const Changed = z.object({ success: z.literal(true), status: z.string() })
  return request(Changed, api.POST(`/api/agents/{id}/${verb}`, { ...inPath({ id: agentId }), fetch: within(60_000) }))
}

function deleteAgent(agentId: string) {
  const Deleted = z.object({ id: z.string(), deleted: z.literal(true) })
  return request(Deleted, api.DELETE('/api/agents/{id}', { ...inPath({ id: agentId }), fetch: within(60_000) }))
}

/** Path of the agent's `status` event stream. */
export function agentEventsPath(agentId: string): string {
  return `${agentPath(agentId)}/events`
}

function agentPath(agentId: string): string {
  return `/api/agents/${encodeURIComponent(agentId)}`
}

/** Returns whether the agent runs on its owner's machine, which alone can start, stop and update it. */
export function isOnOwnMachine({ runtime }: { runtime: string | null }): boolean {
  return runtime === 'machine'
}

export function canChange(status: AgentStatus, verb: AgentVerb): boolean {
  if (status === 'pending' || status === 'provisioning') return false
  return verb === 'start' ? status !== 'running' : verb === 'stop' ? status !== 'stopped' : status !== 'stopped'
}

export function useChangeAgent(agentId: string) {
  return useMutation({
    mutationFn: (verb: AgentVerb) => changeAgent(agentId, verb),
    onSettled: () => refresh(agentsQuery),
  })
}

export function useDeleteAgent(agentId: string) {
  return useMutation({
    mutationFn: () => deleteAgent(agentId),
    onSuccess: () => {
      queryClient.removeQueries({ queryKey: agentQuery(agentId).queryKey })
      queryClient.setQueryData(agentsQuery.queryKey, (agents) => agents?.filter(({ id }) => id !== agentId))
      return refresh(agentsQuery)
    },
  })
}
