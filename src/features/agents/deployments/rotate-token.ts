import { and, eq } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Base } from '../../base.ts'
import { requestOperation, requireRunHere, toRequester } from '../operations/operations.ts'
import { getAgent, newAccessToken, newGatewayToken } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { toInspectedEndpoint } from './health.ts'
import { waitForOperation } from './request.ts'

/** An agent has two tokens: clients show `gateway` to the agent, the agent shows `platform` to us. */
export type TokenName = 'gateway' | 'platform'

/** Restarting OpenClaw takes longer than restarting a built-in agent; requests time out after 180 s. */
const WAIT_MS = 170_000

/**
 * Replaces a token of an agent. A running agent is restarted and finishes its turns first; the old token is invalid
 * once the agent is healthy.
 * @throws AppError `not_found`; as the engine when it does not respond, and nothing has changed then; `internal` with
 * the reason when the agent did not start with its new token.
 */
export async function rotateToken(
  deps: Base & { runtimes: Pick<Runtimes, 'runtimeOf'> },
  principal: Principal,
  id: string,
  name: TokenName,
): Promise<AgentRow> {
  const before = getAgent(deps.db, principal, id)
  requireRunHere(deps.db, id)
  await requireAnsweringEngine(deps, before)
  const operationId = await write(deps.db, (tx) => {
    const now = deps.clock.now()
    const requestedBy = toRequester(principal)
    recordAudit(tx, { actor: requestedBy, action: `agent.rotate-${name}-token`, target: id }, now)
    return replaceTokens(deps, tx, getAgent(tx, principal, id), { names: [name], requestedBy })
  })
  if (operationId === null) return getAgent(deps.db, principal, id)
  try {
    return await waitForOperation(deps, principal, id, { id: operationId, waitMs: WAIT_MS })
  } finally {
    await write(deps.db, (tx) => endRetiring(tx, id))
  }
}

/**
 * Checks that a running agent's engine responds: without a restart the agent would keep a token that no client has.
 * @throws AppError as the engine.
 */
export async function requireAnsweringEngine(
  deps: { runtimes: Pick<Runtimes, 'runtimeOf'> },
  agent: AgentRow,
): Promise<void> {
  if (isUp(agent)) await deps.runtimes.runtimeOf(agent).inspect(agent.id)
}

/**
 * Replaces tokens of an agent in the caller's transaction.
 * @returns the operation that restarts the agent, null when it does not run and gets them at its next start.
 */
export function replaceTokens(
  deps: { clock: Clock; sealer: Sealer; enqueue: Enqueue },
  tx: Tx,
  agent: AgentRow,
  { names, requestedBy }: { names: readonly TokenName[]; requestedBy: string },
): number | null {
  const { id } = agent
  const now = deps.clock.now()
  const retires = names.includes('platform') && isUp(agent)
  tx.update(agents)
    .set({
      ...(names.includes('gateway') && newGatewayToken(deps.sealer, id)),
      ...(names.includes('platform') && newAccessToken(deps.sealer, id)),
      // Turns that the agent still finishes may call models with the old token until the restart.
      ...(retires && { retiringTokenHash: agent.accessTokenHash }),
      tokensChangedAt: now,
      updatedAt: now,
    })
    .where(eq(agents.id, id))
    .run()
  // A machine shows its new tokens after it was paired again.
  if (agent.runtime === 'machine') return null
  return isUp(agent) ? requestOperation(deps, tx, id, { kind: 'deploy', requestedBy }) : null
}

/**
 * Completes a rotation once `agent` runs with its new tokens: ends the pairings that the old tokens allowed. A failure
 * is logged and retried while `tokensChangedAt` is set.
 */
export async function finishRotation(
  deps: Base & { gateway: Pick<AgentGateway, 'endPairings'> },
  agent: AgentRow,
  inspection: Inspection,
): Promise<void> {
  const { id, tokensChangedAt } = agent
  if (tokensChangedAt === null) return
  try {
    await deps.gateway.endPairings(toInspectedEndpoint(deps.sealer, agent, inspection))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    deps.log.warn({ agentId: id, error: errorMessage(error) }, 'pairings of an old token could not be ended')
    return
  }
  // A later rotation has set another time and is not complete yet.
  const isThis = and(eq(agents.id, id), eq(agents.tokensChangedAt, tokensChangedAt))
  await write(deps.db, (tx) => {
    tx.update(agents).set({ tokensChangedAt: null, retiringTokenHash: null }).where(isThis).run()
  })
}

/** Revokes the previous platform token immediately. */
export function endRetiring(tx: Tx, id: string): void {
  tx.update(agents).set({ retiringTokenHash: null }).where(eq(agents.id, id)).run()
}

/** Returns whether the agent runs or is about to. */
function isUp({ status }: AgentRow): boolean {
  return status === 'running' || status === 'provisioning'
}
