import { and, eq } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { requestOperation, toRequester } from '../operations/operations.ts'
import { getAgent, newAccessToken, newGatewayToken } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { toInspectedEndpoint } from './health.ts'
import { type RequestDeps, waitForOperation } from './request.ts'

/** The two tokens of an agent: the one that opens it, and the one that it shows to the platform. */
export type TokenName = 'gateway' | 'platform'

export type RotateTokenDeps = RequestDeps & { runtimes: Pick<Runtimes, 'runtimeOf'> }

/** Starting OpenClaw anew takes longer than a start of ours; requests are given up after 180 s. */
const WAIT_MS = 170_000

/**
 * Replaces a token of an agent. One that runs is started anew with it, ending its turns first as with any restart; the
 * answer comes when it is healthy, and the old token works no more.
 * @throws AppError `not_found`; what the engine says, and nothing has changed, when it does not answer; `internal` with the
 * reason when the agent did not start with its new token.
 */
export async function rotateToken(
  deps: RotateTokenDeps,
  principal: Principal,
  id: string,
  name: TokenName,
): Promise<AgentRow> {
  await requireAnsweringEngine(deps, getAgent(deps.db, principal, id))
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
 * A token that a running agent cannot be told of would lock everybody out of it.
 * @throws what the engine says when it does not answer.
 */
export async function requireAnsweringEngine(deps: Pick<RotateTokenDeps, 'runtimes'>, agent: AgentRow): Promise<void> {
  if (isUp(agent)) await deps.runtimes.runtimeOf(agent).inspect(agent.id)
}

/**
 * Replaces tokens of an agent in the caller's closure.
 * @returns the operation that starts it with them, null for one that does not run: its next start does.
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
      // The turns that the agent still ends may ask for models until it has been started anew.
      ...(retires && { retiringTokenHash: agent.accessTokenHash }),
      tokensChangedAt: now,
      updatedAt: now,
    })
    .where(eq(agents.id, id))
    .run()
  return isUp(agent) ? requestOperation(deps, tx, id, { kind: 'deploy', requestedBy }) : null
}

/**
 * What is left to do once `agent` runs with the tokens of this row: whoever it let in by its old ones is sent away. A failure
 * is logged, and tried again as long as the row says so.
 */
export async function finishRotation(
  deps: { db: Db; sealer: Sealer; log: Log; gateway: Pick<AgentGateway, 'endPairings'> },
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
  // Another rotation since then is not done yet.
  const isThis = and(eq(agents.id, id), eq(agents.tokensChangedAt, tokensChangedAt))
  await write(deps.db, (tx) => {
    tx.update(agents).set({ tokensChangedAt: null, retiringTokenHash: null }).where(isThis).run()
  })
}

/** Ends at once what the platform token before the present one may still do. */
export function endRetiring(tx: Tx, id: string): void {
  tx.update(agents).set({ retiringTokenHash: null }).where(eq(agents.id, id)).run()
}

/** Does something run for it, or is something about to? */
function isUp({ status }: AgentRow): boolean {
  return status === 'running' || status === 'provisioning'
}
