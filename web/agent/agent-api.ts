import { queryOptions, useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { z } from 'zod'
import { DeploymentList } from '../../src/features/agents/deployments/schemas.ts'
import type { ChangeAgentRequest } from '../../src/features/agents/registry/schemas.ts'
import {
  type AgentStatusEvent,
  type ConfigRequest,
  ConfigResponse,
} from '../../src/features/agents/registry/schemas.ts'
import {
  Verification,
  VerificationChallenge,
  type VerifyAgentRequest,
} from '../../src/features/agents/verification/schemas.ts'
import { AgentWatchdog } from '../../src/features/agents/watchdog/schemas.ts'
import { Instance } from '../../src/features/monitoring/instances/schemas.ts'
import { AgentStatsResponse } from '../../src/features/monitoring/metrics/schemas.ts'
import { agentQuery, agentsQuery } from '../agents/agents-api.ts'
import { followDeployment } from '../agents/deployment.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { ApiError, api, inPath, request, within } from '../api/request.ts'

/** Operations slower than a start, because they may pull images or restore data. */
export type Operation =
  | { verb: 'update'; image?: string }
  | { verb: 'repair' }
  | { verb: 'reset-memory' }
  | { verb: 'restore-snapshot'; snapshotId: string }

/** Slightly more than the server's own limit. */
const LONG_MS = 185_000
const CHAIN_MS = 60_000

const Success = z.object({ success: z.literal(true) })

export function statsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'stats'],
    queryFn: async ({ signal }) =>
      (await request(AgentStatsResponse, api.GET('/api/agents/{id}/stats', { ...inPath({ id: agentId }), signal })))
        .stats,
    refetchInterval: 10_000,
  })
}

export function watchdogQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'watchdog'],
    queryFn: ({ signal }) =>
      request(AgentWatchdog, api.GET('/api/agents/{id}/watchdog', { ...inPath({ id: agentId }), signal })),
    refetchInterval: 5_000,
  })
}

export function deploymentsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'deployments'],
    queryFn: async ({ signal }) =>
      (await request(DeploymentList, api.GET('/api/agents/{id}/deployments', { ...inPath({ id: agentId }), signal })))
        .deployments,
    refetchInterval: 30_000,
  })
}

export function instanceQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'instance'],
    queryFn: ({ signal }) =>
      request(Instance, api.GET('/api/instance/{userId}', { ...inPath({ userId: agentId }), signal })),
    staleTime: 30_000,
  })
}

/** Secrets are reported as set or not set only. */
export function configQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'config'],
    queryFn: async ({ signal }) =>
      (await request(ConfigResponse, api.GET('/api/agents/{id}/config', { ...inPath({ id: agentId }), signal })))
        .config,
  })
}

export function verificationQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'verification'],
    queryFn: ({ signal }) =>
      request(Verification, api.GET('/api/agents/{id}/verify', { ...inPath({ id: agentId }), signal })),
  })
}

/** Resolves when the operation has finished. @throws ApiError with the reason when it is rejected or fails. */
function operateAgent(agentId: string, operation: Operation) {
  return request(Success, sendOperation(agentId, operation))
}

function sendOperation(id: string, operation: Operation) {
  const options = { ...inPath({ id }), fetch: within(LONG_MS) }
  if (operation.verb === 'update') {
    return api.POST('/api/agents/{id}/update', { ...options, body: { image: operation.image } })
  }
  if (operation.verb !== 'restore-snapshot') return api.POST(`/api/agents/{id}/${operation.verb}`, options)
  const path = { id, snapshotId: operation.snapshotId }
  return api.POST('/api/agents/{id}/snapshots/{snapshotId}/restore', { ...options, params: { path } })
}

/** Null removes a setting. A running agent restarts in the background. */
async function changeConfig(agentId: string, change: ConfigRequest) {
  return (
    await request(ConfigResponse, api.PUT('/api/agents/{id}/config', { ...inPath({ id: agentId }), body: change }))
  ).config
}

export function changeAgentFields(agentId: string, body: ChangeAgentRequest) {
  return request(Success, api.PATCH('/api/agents/{id}', { ...inPath({ id: agentId }), body }))
}

export async function getToken(agentId: string) {
  return (await request(z.object({ token: z.string() }), api.GET('/api/agents/{id}/token', inPath({ id: agentId }))))
    .token
}

/** Resolves when the agent runs with the new token. */
export function rotateGatewayToken(agentId: string) {
  return request(
    Success,
    api.POST('/api/agents/{id}/token/rotate', { ...inPath({ id: agentId }), fetch: within(LONG_MS) }),
  )
}

/** Replaces the token the agent uses to call this server; it is never shown. */
export function rotatePlatformToken(agentId: string) {
  return request(
    Success,
    api.POST('/api/agents/{id}/platform-token/rotate', { ...inPath({ id: agentId }), fetch: within(LONG_MS) }),
  )
}

export async function createChallenge(agentId: string) {
  return (await request(VerificationChallenge, api.POST('/api/agents/{id}/verify/challenge', inPath({ id: agentId }))))
    .message
}

/** Verifies a proof on the chain. @throws ApiError with the reason. */
export function verifyAgent(agentId: string, body: z.input<typeof VerifyAgentRequest>) {
  return request(
    Success,
    api.POST('/api/agents/{id}/verify', { ...inPath({ id: agentId }), body, fetch: within(CHAIN_MS) }),
  )
}

export function removeVerification(agentId: string) {
  return request(Success, api.DELETE('/api/agents/{id}/verify', inPath({ id: agentId })))
}

export function useChangeConfig(agentId: string) {
  return async (change: ConfigRequest): Promise<void> => {
    const config = await changeConfig(agentId, change)
    queryClient.setQueryData(configQuery(agentId).queryKey, config)
    void refresh(agentQuery(agentId))
  }
}

/** The server's error message starts with the name of the rejected setting. */
export function fieldOfConfig(names: readonly string[]) {
  return (error: unknown): string | null => {
    if (!(error instanceof ApiError) || error.status !== 400) return null
    return names.find((name) => error.message.toLowerCase().includes(name.toLowerCase())) ?? null
  }
}

export function useOperation(agentId: string) {
  return useMutation({
    mutationFn: (operation: Operation) => operateAgent(agentId, operation),
    onSettled: () => refresh(agentsQuery),
  })
}

/**
 * Returns the latest live event of an agent. A new step reloads its deployments, a new status everything shown of it;
 * progress events need no request.
 */
export function useLiveAgent(agentId: string): AgentStatusEvent | null {
  const [latest, setLatest] = useState<AgentStatusEvent | null>(null)
  useEffect(() => {
    let known: AgentStatusEvent | null = null
    return followDeployment(agentId, (event) => {
      if (known && known.status !== event.status) {
        void refresh(agentQuery(agentId))
      } else if (known && known.step !== event.step) {
        void refresh(deploymentsQuery(agentId))
      }
      known = event
      setLatest(event)
      return true
    })
  }, [agentId])
  return latest
}
