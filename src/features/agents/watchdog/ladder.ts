import { eq } from 'drizzle-orm'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { pause } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { isHealthyInTime, type RepairDeps, repairAgent } from '../deployments/health.ts'
import { toSpec } from '../deployments/spec.ts'
import { toSeen } from '../deployments/start.ts'
import { type ImageRules, isAllowedImage, notAllowed } from '../operations/images.ts'
import { findAgentRow } from '../registry/agents.ts'
import { type AgentSettings, readAgentSettings, writeSettings } from '../registry/config.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { compareConfigurations, describeChanges } from '../revisions/compare.ts'
import {
  type Configuration,
  findHealthyRevision,
  listRevisions,
  readRevision,
  recordRevision,
  toConfiguration,
  WATCHDOG_AUTHOR,
} from '../revisions/record.ts'
import type { FieldChange } from '../revisions/schemas.ts'
import type { ReturnRung, Rung } from './next-state.ts'

/** The changes of a return; `number` is that of the healthy revision. */
type Return = { number: number; changes: FieldChange[]; apply(deps: Base, tx: Tx): AgentRow }

/**
 * Returns what the agent can be restored to: the parts of its last healthy revision that differ from the current ones.
 * Owners, tools, instructions, size and removed secrets are never restored.
 */
export function findReturns(
  { sealer }: { sealer: Sealer },
  db: Db | Tx,
  agent: AgentRow,
): Partial<Record<ReturnRung, Return>> {
  const row = findHealthyRevision(db, agent.id)
  if (!row) return {}
  const healthy = readRevision(sealer, row)
  const present = toConfiguration(sealer, agent, healthy)
  const { number } = row
  const merged = merge(readAgentSettings(sealer, agent), healthy)
  const changes = compareConfigurations(present, { ...present, ...merged })
  const image = agent.runtime === 'process' || healthy.image === agent.image ? null : healthy.image
  return {
    ...(changes.length > 0 && {
      configuration: { number, changes, apply: (deps: Base, tx: Tx) => writeSettings(deps, tx, agent, merged) },
    }),
    ...(image !== null && {
      image: {
        number,
        changes: [{ field: 'image', before: agent.image, after: image, isSecret: false }],
        apply: (_deps: Base, tx: Tx) => writeImage(tx, agent, image),
      },
    }),
  }
}

/** Lists the returns that an agent has. */
export function listReturnRungs(deps: { sealer: Sealer }, db: Db | Tx, agent: AgentRow): ReturnRung[] {
  const { configuration, image } = findReturns(deps, db, agent)
  return [...(configuration ? (['configuration'] as const) : []), ...(image ? (['image'] as const) : [])]
}

/** Returns the current settings, with those of a healthy configuration that can keep an agent from running. */
function merge(present: AgentSettings, healthy: Configuration): AgentSettings {
  const { ownerIds, telegramUserId, email, subscriptionId } = present.plain
  const kept = Object.entries({ ownerIds, telegramUserId, email, subscriptionId })
  const plain = { ...healthy.plain, ...Object.fromEntries(kept) }
  const secrets = Object.entries(healthy.secrets).filter(([name]) => Object.hasOwn(present.secrets, name))
  return {
    model: healthy.model,
    aiProvider: healthy.aiProvider,
    plan: present.plan,
    plain: Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)),
    secrets: Object.fromEntries(secrets),
  }
}

function writeImage(tx: Tx, { id }: AgentRow, image: string): AgentRow {
  return tx.update(agents).set({ image }).where(eq(agents.id, id)).returning().get()
}

export type LadderDeps = RepairDeps & Base & { imageRules: ImageRules }

/**
 * Takes a rung of the repair ladder: restarts the agent, or starts it with its last healthy configuration or image.
 * @returns whether it became healthy and is still wanted. @throws AppError as the engine, the signal's reason.
 */
export function takeRung(deps: LadderDeps, agentId: string, rung: Rung, signal: AbortSignal): Promise<boolean> {
  if (rung === 'restart') return repairAgent(deps, agentId, signal)
  return deps.agentLocks.run(agentId, () => goBack(deps, agentId, rung, signal))
}

async function goBack(deps: LadderDeps, agentId: string, rung: ReturnRung, signal: AbortSignal): Promise<boolean> {
  const agent = await write(deps.db, (tx) => applyReturn(deps, tx, agentId, rung))
  if (!agent || agent.port === null) return false
  const runtime = deps.runtimes.runtimeOf(agent)
  if (rung === 'image' && agent.image !== null) await requireImageThere(deps, agent, agent.image, signal)
  if ((await runtime.inspect(agentId)) !== null) await runtime.kill(agentId)
  await pause(deps.watchdog.killWaitSeconds * 1000, signal)
  signal.throwIfAborted()
  const isWanted = () => findAgentRow(deps.db, agentId)?.status === 'running'
  if (!isWanted()) return false
  await runtime.deploy(await toSpec(deps, agent, agent.port))
  const isVerified = await isHealthyInTime(deps, agent, isWanted, signal)
  if (findAgentRow(deps.db, agentId)?.status === 'stopped') await runtime.stop(agentId)
  if (!isVerified || !isWanted()) return false
  await noteSeen(deps, agent)
  return true
}

/**
 * Changes nothing when the agent already has the restored parts, for example after an interruption; null when the agent
 * should not run.
 */
function applyReturn(deps: Base, tx: Tx, agentId: string, rung: ReturnRung): AgentRow | null {
  const agent = findAgentRow(tx, agentId)
  if (agent?.status !== 'running') return null
  const found = findReturns(deps, tx, agent)[rung]
  if (!found) return agent
  const changed = found.apply(deps, tx)
  recordRevision(deps, tx, agentId, { author: WATCHDOG_AUTHOR, restoredFrom: found.number })
  return changed
}

async function requireImageThere(
  { runtimes, imageRules }: LadderDeps,
  agent: AgentRow,
  image: string,
  signal: AbortSignal,
): Promise<void> {
  const runtime = runtimes.runtimeOf(agent)
  if (await runtime.findImage(image)) return
  if (!isAllowedImage(imageRules, image)) throw notAllowed(image)
  await runtime.pull(image, () => undefined, signal)
}

async function noteSeen({ db, runtimes }: LadderDeps, agent: AgentRow): Promise<void> {
  const inspection = await runtimes.runtimeOf(agent).inspect(agent.id)
  if (!inspection) return
  const seen = toSeen(inspection, inspection.version)
  await write(db, (tx) => tx.update(agents).set(seen).where(eq(agents.id, agent.id)).run())
}

/** Returns the last change of an agent that the watchdog did not make, in one sentence part; null without one. */
export function describeLastChange({ sealer }: { sealer: Sealer }, db: Db | Tx, agentId: string): string | null {
  const rows = listRevisions(db, agentId)
  const index = rows.findIndex(({ author }) => author !== WATCHDOG_AUTHOR)
  const [row, before] = index < 0 ? [] : rows.slice(index, index + 2)
  if (!row || !before) return null
  const changes = compareConfigurations(readRevision(sealer, before), readRevision(sealer, row))
  return `${describeChanges(changes)} (${row.createdAt.toISOString()})`
}

/** Describes in part of a sentence what a restore changes. */
export function describeReturn(deps: { sealer: Sealer }, db: Db | Tx, agent: AgentRow, rung: Rung): string | null {
  if (rung === 'restart') return null
  const found = findReturns(deps, db, agent)[rung]
  return found ? describeChanges(found.changes) : null
}
