import { and, desc, eq, inArray, isNotNull, max } from 'drizzle-orm'
import type { Inspection, Runtime } from '../../adapters/runtime.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { VERSION } from '../../core/version.ts'
import type { Db } from '../../db/open.ts'
import type { Principal } from '../../http/env.ts'
import { getAgent, listAgents } from '../agents/list.ts'
import { type AgentRow, agents } from '../agents/tables.ts'
import { deploymentHistory } from '../deployments/tables.ts'
import { formatStats, formatUpFor } from '../metrics/format.ts'
import type { RuntimeInstance, RuntimeInstanceStats, RuntimeVersion } from './schemas.ts'

/** `agentImage` is null where agents are processes: then they are of our own version. */
export type RuntimeDeps = {
  db: Db
  clock: Clock
  runtime: Pick<Runtime, 'list' | 'stats'>
  agentImage: string | null
}

const UNKNOWN = 'unknown'

/** What new agents run on, and when one was last brought onto it; null before the first. */
export function getRuntimeVersion({ db, agentImage }: RuntimeDeps): RuntimeVersion {
  const row = db
    .select({ deployedAt: max(deploymentHistory.finishedAt) })
    .from(deploymentHistory)
    .where(and(inArray(deploymentHistory.kind, ['deploy', 'update']), eq(deploymentHistory.result, 'succeeded')))
    .get()
  return {
    runtimeVersion: agentImage === null ? VERSION : (findImageVersion(db) ?? UNKNOWN),
    image: agentImage,
    deployedAt: row?.deployedAt?.toISOString() ?? null,
  }
}

/** The version last seen of an agent that runs the platform's image. */
function findImageVersion(db: Db): string | null {
  const row = db
    .select({ version: agents.runtimeVersion })
    .from(agents)
    .where(and(eq(agents.status, 'running'), isNotNull(agents.runtimeVersion)))
    .orderBy(desc(agents.startedAt))
    .limit(1)
    .get()
  return row?.version ?? null
}

/** The agents that run, of those that `principal` may see. @throws AppError `internal` when the engine cannot be asked. */
export async function listInstances(deps: RuntimeDeps, principal: Principal): Promise<RuntimeInstance[]> {
  const rows = new Map(listAgents(deps.db, principal).map((agent) => [agent.id, agent]))
  const inspections = await deps.runtime.list().catch((cause: unknown) => {
    throw new AppError('internal', 'Failed to list instances', {}, { cause })
  })
  return inspections
    .filter(({ state }) => state === 'running')
    .flatMap((inspection) => {
      const agent = rows.get(inspection.id)
      return agent ? [toInstance(agent, inspection, deps.clock.now())] : []
    })
}

function toInstance(agent: AgentRow, inspection: Inspection, now: Date): RuntimeInstance {
  const startedAt = inspection.startedAt ?? now
  return {
    agentId: agent.id,
    name: agent.name,
    image: inspection.image,
    status: formatUpFor(Math.max(0, now.getTime() - startedAt.getTime())),
    createdAt: agent.createdAt.toISOString(),
    version: inspection.version ?? agent.runtimeVersion ?? (inspection.image === null ? VERSION : UNKNOWN),
    metadata: { plan: agent.plan, model: agent.model, kind: inspection.kind },
  }
}

/**
 * What a running agent uses now.
 * @throws AppError `not_found`, `conflict` {code: 'NOT_RUNNING'}, `internal` when the engine cannot be asked.
 */
export async function getInstanceStats(
  deps: RuntimeDeps,
  principal: Principal,
  agentId: string,
): Promise<RuntimeInstanceStats> {
  const { id } = getAgent(deps.db, principal, agentId)
  const stats = await deps.runtime.stats(id).catch((cause: unknown) => {
    if (cause instanceof AppError && (cause.kind === 'not_found' || cause.kind === 'conflict')) throw cause
    throw new AppError('internal', 'Failed to get container stats', {}, { cause })
  })
  return { agentId: id, ...formatStats(stats), status: 'running', timestamp: deps.clock.now().toISOString() }
}
