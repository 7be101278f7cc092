import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import { AppError } from '../../../core/errors.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findReachableEndpoint } from '../../agents/registry/address.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type StorageQuota, withinWorkspaceQuota } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'

export type InstructionDeps = Base & {
  storage: Pick<StorageQuota, 'within'>
  gateway: Pick<AgentGateway, 'readInstructions' | 'writeInstructions'>
}

/**
 * Returns the owner's instructions for every session: the file `AGENT.md` of the workspace.
 * @throws AppError `not_found` for a missing agent and for another user's, `conflict` while it does not run and for
 * OpenClaw; the gateway's errors.
 */
export async function readInstructions(
  deps: InstructionDeps,
  user: SignedInUser,
  agentId: string,
): Promise<string | null> {
  const { endpoint } = requireRunning(deps, user, agentId)
  return deps.gateway.readInstructions(endpoint)
}

/** Replaces the instructions from the next turn on. @throws as `readInstructions`, and AppError `storage_full`. */
export async function writeInstructions(
  deps: InstructionDeps,
  user: SignedInUser,
  agentId: string,
  text: string,
): Promise<void> {
  const { agent, endpoint } = requireRunning(deps, user, agentId)
  await withinWorkspaceQuota(deps, { agent }, Buffer.byteLength(text), () =>
    deps.gateway.writeInstructions(endpoint, text),
  )
}

function requireRunning(
  deps: InstructionDeps,
  user: SignedInUser,
  agentId: string,
): { agent: AgentRow; endpoint: AgentEndpoint } {
  const agent = getAgent(deps.db, { kind: 'user', user }, agentId)
  const endpoint = findReachableEndpoint(deps.sealer, agent)
  if (endpoint) return { agent, endpoint }
  const message = 'AGENT.md is a file of the agent, which is not running'
  throw new AppError('conflict', message, { code: 'AGENT_NOT_RUNNING' })
}
