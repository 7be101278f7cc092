import { and, desc, eq, inArray, isNull, max } from 'drizzle-orm'
import { type Inspection, RUNTIMES, type RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { AppError } from '../../../core/errors.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import type { ImageRules } from '../../agents/operations/images.ts'
import { deploymentHistory, isOfNewVersion } from '../../agents/operations/tables.ts'
import { getAgent, ownedBy } from '../../agents/registry/agents.ts'
import { type AgentRow, agents, hasKnownVersion } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { formatStats, formatUpFor } from '../metrics/format.ts'
import type { RuntimeInstance, RuntimeInstanceStats, RuntimeVersion } from './schemas.ts'

/** `imageRules.image` is the image of new containers. */
export type RuntimeDeps = Base & {
  runtimes: Pick<Runtimes, 'runtimeOf' | 'choose'>
  imageRules: Pick<ImageRules, 'image'>
}

const UNKNOWN = 'unknown'
/** Agents per batch; the event loop runs other work between batches. */
const BATCH = 200

/**
 * Returns the version that new agents run, and when an agent was last deployed with it; null before the first
 * deployment.
 */
export async function getRuntimeVersion({ db, runtimes, imageRules }: RuntimeDeps): Promise<RuntimeVersion> {
  const isProcess = (await runtimes.choose()) === 'process'
  const row = db
    .select({ deployedAt: max(deploymentHistory.finishedAt) })
    .from(deploymentHistory)
    .where(isOfNewVersion)
    .get()
  return {
    runtimeVersion: isProcess ? VERSION : (findImageVersion(db) ?? UNKNOWN),
    image: isProcess ? null : imageRules.image,
    deployedAt: row?.deployedAt?.toISOString() ?? null,
  }
}

/** Returns the version last reported by an agent in a container. */
function findImageVersion(db: Db): string | null {
  const row = db
    .select({ version: agents.runtimeVersion })
    .from(agents)
    .where(hasKnownVersion)
    .orderBy(desc(agents.startedAt))
    .limit(1)
    .get()
  return row?.version ?? null
}

/** Lists the running agents that `principal` may see. @throws AppError `internal` when an engine cannot be reached. */
export async function listInstances(deps: RuntimeDeps, principal: Principal): Promise<RuntimeInstance[]> {
  const found = await Promise.all(
    listRuntimes(deps.db, principal).map((runtime) => listRunning(deps, principal, runtime)),
  )
  return found.flat()
}

/** Lists the runtimes that have agents of `principal`. */
function listRuntimes(db: Db, principal: Principal): (RuntimeName | null)[] {
  const isUsed = (runtime: RuntimeName | null) => {
    const isInIt = runtime === null ? isNull(agents.runtime) : eq(agents.runtime, runtime)
    return (
      db
        .select({ id: agents.id })
        .from(agents)
        .where(and(ownedBy(principal), isInIt))
        .limit(1)
        .get() !== undefined
    )
  }
  return [null, ...RUNTIMES].filter(isUsed)
}

async function listRunning(
  deps: RuntimeDeps,
  principal: Principal,
  runtime: RuntimeName | null,
): Promise<RuntimeInstance[]> {
  const inspections = await deps.runtimes
    .runtimeOf({ runtime })
    .list()
    .catch((cause: unknown) => {
      throw new AppError('internal', 'Failed to list instances', {}, { cause })
    })
  const running = inspections.filter(({ state }) => state === 'running')
  const instances: RuntimeInstance[] = []
  for (let from = 0; from < running.length; from += BATCH) {
    await spareTurn()
    instances.push(...toInstances(deps, principal, running.slice(from, from + BATCH)))
  }
  return instances
}

function toInstances({ db, clock }: RuntimeDeps, principal: Principal, running: Inspection[]): RuntimeInstance[] {
  const isOne = inArray(
    agents.id,
    running.map(({ id }) => id),
  )
  const rows = db
    .select()
    .from(agents)
    .where(and(ownedBy(principal), isOne))
    .all()
  const byId = new Map(rows.map((agent) => [agent.id, agent]))
  return running.flatMap((inspection) => {
    const agent = byId.get(inspection.id)
    return agent ? [toInstance(agent, inspection, clock.now())] : []
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
    version: inspection.version ?? agent.runtimeVersion ?? UNKNOWN,
    metadata: { plan: agent.plan, model: agent.model, kind: inspection.kind },
  }
}

/**
 * Returns the current resource usage of a running agent.
 * @throws AppError `not_found`, `conflict` {code: 'NOT_RUNNING'}, `internal` when the engine cannot be reached.
 */
export async function getInstanceStats(
  deps: RuntimeDeps,
  principal: Principal,
  agentId: string,
): Promise<RuntimeInstanceStats> {
  const agent = getAgent(deps.db, principal, agentId)
  const stats = await deps.runtimes
    .runtimeOf(agent)
    .stats(agent.id)
    .catch((cause: unknown) => {
      if (cause instanceof AppError && (cause.kind === 'not_found' || cause.kind === 'conflict')) throw cause
      throw new AppError('internal', 'Failed to get container stats', {}, { cause })
    })
  return { agentId: agent.id, ...formatStats(stats), status: 'running', timestamp: deps.clock.now().toISOString() }
}
