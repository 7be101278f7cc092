import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { DeploymentList } from '../../src/features/agents/deployments/schemas.ts'
import { type ConfigRequest, ConfigResponse } from '../../src/features/agents/registry/schemas.ts'
import { Challenge, Verification, type VerifyRequest } from '../../src/features/agents/verification/schemas.ts'
import { AgentWatchdog } from '../../src/features/agents/watchdog/schemas.ts'
import { Instance } from '../../src/features/views/instances/schemas.ts'
import { AgentStats } from '../../src/features/views/metrics/schemas.ts'
import { agentPath, agentQuery } from '../agents/agents-api.ts'
import { request } from '../api/request.ts'

/** What takes longer than a start: an image may be fetched, and put back. */
export type Operation =
  | { verb: 'update'; image?: string }
  | { verb: 'repair' }
  | { verb: 'reset-memory' }
  | { verb: 'restore-snapshot'; snapshotId: string }

/** A little more than the server takes for any of them. */
const LONG_MS = 185_000
const CHAIN_MS = 60_000

const Success = z.object({ success: z.literal(true) })

/** What an agent uses now and what came of its messages. */
export function statsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'stats'],
    queryFn: async ({ signal }) => (await request(AgentStats, `${agentPath(agentId)}/stats`, { signal })).stats,
    refetchInterval: 10_000,
  })
}

/** What the watchdog knows of an agent. */
export function watchdogQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'watchdog'],
    queryFn: ({ signal }) => request(AgentWatchdog, `${agentPath(agentId)}/watchdog`, { signal }),
    refetchInterval: 5_000,
  })
}

/** What was asked of an agent, newest first. */
export function deploymentsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'deployments'],
    queryFn: async ({ signal }) =>
      (await request(DeploymentList, `${agentPath(agentId)}/deployments`, { signal })).deployments,
    refetchInterval: 30_000,
  })
}

/** Where an agent is reached and which version of its program runs. */
export function instanceQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'instance'],
    queryFn: ({ signal }) => request(Instance, `/api/instance/${encodeURIComponent(agentId)}`, { signal }),
    staleTime: 30_000,
  })
}

/** An agent's settings; of secrets only whether they are set. */
export function configQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'config'],
    queryFn: async ({ signal }) => (await request(ConfigResponse, configPath(agentId), { signal })).config,
  })
}

/** What its owner has proved about an agent. */
export function verificationQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'verification'],
    queryFn: ({ signal }) => request(Verification, verifyPath(agentId), { signal }),
  })
}

/** Returns when it is done. @throws ApiError with the reason when it is refused or has failed. */
export function operateAgent(agentId: string, operation: Operation) {
  const { verb, ...body } = operation
  const order =
    operation.verb === 'restore-snapshot'
      ? { path: `snapshots/${encodeURIComponent(operation.snapshotId)}/restore`, body: {} }
      : { path: verb, body }
  return request(Success, `${agentPath(agentId)}/${order.path}`, {
    method: 'POST',
    body: order.body,
    timeoutMs: LONG_MS,
  })
}

/** Changes what `change` names: null takes a setting away. An agent that runs is started anew in the background. */
export async function changeConfig(agentId: string, change: ConfigRequest) {
  return (await request(ConfigResponse, configPath(agentId), { method: 'PUT', body: change })).config
}

export function renameAgent(agentId: string, name: string) {
  return request(Success, agentPath(agentId), { method: 'PATCH', body: { name } })
}

/** The token that the agent's own gateway takes. */
export async function getToken(agentId: string) {
  return (await request(z.object({ token: z.string() }), `${agentPath(agentId)}/token`)).token
}

/** Replaces the token of the agent's own gateway; returns when the agent runs with the new one. */
export function rotateGatewayToken(agentId: string) {
  return request(Success, `${agentPath(agentId)}/token/rotate`, { method: 'POST', timeoutMs: LONG_MS })
}

/** Replaces the token with which the agent asks this server; nobody is shown it. */
export function rotatePlatformToken(agentId: string) {
  return request(Success, `${agentPath(agentId)}/platform-token/rotate`, { method: 'POST', timeoutMs: LONG_MS })
}

/** The text that a wallet signs to vouch for the agent, once. */
export async function createChallenge(agentId: string) {
  return (await request(Challenge, `${verifyPath(agentId)}/challenge`, { method: 'POST' })).message
}

/** Has the server check a proof on the chain. @throws ApiError with what is missing or not true. */
export function verifyAgent(agentId: string, body: z.input<typeof VerifyRequest>) {
  return request(Success, verifyPath(agentId), { method: 'POST', body, timeoutMs: CHAIN_MS })
}

export function removeVerification(agentId: string) {
  return request(Success, verifyPath(agentId), { method: 'DELETE' })
}

function configPath(agentId: string): string {
  return `${agentPath(agentId)}/config`
}

function verifyPath(agentId: string): string {
  return `${agentPath(agentId)}/verify`
}
