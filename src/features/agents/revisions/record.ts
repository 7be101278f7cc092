import { and, desc, eq, isNotNull, ne } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import { beyondNewest } from '../../../db/beyond-newest.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { findAgentRow } from '../registry/agents.ts'
import { type AgentSettings, readAgentSettings } from '../registry/config.ts'
import { PlainSettings, SecretSettings } from '../registry/schemas.ts'
import type { AgentRow } from '../registry/tables.ts'
import { agentRevisions, type RecordedTools, type RevisionRow } from './tables.ts'

/** Revisions kept per agent, besides its last healthy one. */
const MAX_REVISIONS = 50
/** Authors of revisions that no user made. */
export const PLATFORM = 'platform'
export const WATCHDOG_AUTHOR = 'watchdog'

type RecordDeps = { clock: Clock; sealer: Sealer }

/** A whole configuration of an agent, with its secrets in plain text. */
export type Configuration = AgentSettings & Pick<RevisionRow, 'tools' | 'instructions' | 'image' | 'runtimeVersion'>

/** `tools` and `instructions` are given when they changed; undefined keeps what is recorded. */
type RecordedChange = {
  author: string
  restoredFrom?: number | null
  tools?: RecordedTools | null
  instructions?: string | null
}

/**
 * Records the present configuration of an agent as a revision, unless its last revision is the same.
 * @returns the number of its revision, null for a deleted agent.
 */
export function recordRevision(deps: RecordDeps, tx: Tx, agentId: string, change: RecordedChange): number | null {
  const agent = findAgentRow(tx, agentId)
  if (!agent) return null
  const latest = findLatestRevision(tx, agentId)
  const { tools = latest?.tools ?? null, instructions = latest?.instructions ?? null } = change
  const configuration = toConfiguration(deps.sealer, agent, { tools, instructions })
  if (latest && isSame(readRevision(deps.sealer, latest), configuration)) {
    noteImage(tx, latest, configuration)
    return latest.number
  }
  const number = (latest?.number ?? 0) + 1
  const { author, restoredFrom = null } = change
  const row = { agentId, number, author, restoredFrom, createdAt: deps.clock.now(), healthyAt: null }
  tx.insert(agentRevisions)
    .values({ ...row, ...toColumns(deps.sealer, { agentId, number }, configuration) })
    .run()
  forgetOldest(tx, agentId)
  return number
}

/** Records that an agent ran healthy with its present configuration for at least `healthyAfterMs`. */
export function markRevisionHealthy(deps: RecordDeps, tx: Tx, agent: AgentRow, healthyAfterMs: number): void {
  const now = deps.clock.now()
  const known = findLatestRevision(tx, agent.id)
  if (known?.healthyAt && known.healthyAt >= agent.updatedAt) return
  const number = recordRevision(deps, tx, agent.id, { author: PLATFORM })
  const since = known?.number === number ? known.createdAt : agent.updatedAt
  if (number === null || now.getTime() - since.getTime() < healthyAfterMs) return
  const isThis = and(eq(agentRevisions.agentId, agent.id), eq(agentRevisions.number, number))
  tx.update(agentRevisions).set({ healthyAt: now }).where(isThis).run()
}

/** Returns an agent's newest revision that ran healthy. */
export function findHealthyRevision(db: Db | Tx, agentId: string): RevisionRow | null {
  const isHealthy = and(eq(agentRevisions.agentId, agentId), isNotNull(agentRevisions.healthyAt))
  return db.select().from(agentRevisions).where(isHealthy).orderBy(desc(agentRevisions.number)).limit(1).get() ?? null
}

/** Lists the revisions of an agent, newest first. */
export function listRevisions(db: Db | Tx, agentId: string): RevisionRow[] {
  const ofAgent = eq(agentRevisions.agentId, agentId)
  return db.select().from(agentRevisions).where(ofAgent).orderBy(desc(agentRevisions.number)).all()
}

function findLatestRevision(db: Db | Tx, agentId: string): RevisionRow | null {
  const ofAgent = eq(agentRevisions.agentId, agentId)
  return db.select().from(agentRevisions).where(ofAgent).orderBy(desc(agentRevisions.number)).limit(1).get() ?? null
}

/** Deletes the history of an agent, so that its secrets cannot be restored. */
export function forgetRevisions(tx: Tx, agentId: string): void {
  tx.delete(agentRevisions).where(eq(agentRevisions.agentId, agentId)).run()
}

/** Returns the configuration of a revision, with its secrets. */
export function readRevision(sealer: Sealer, row: RevisionRow): Configuration {
  const { model, aiProvider, plan, tools, instructions, image, runtimeVersion } = row
  const plain = PlainSettings.parse(JSON.parse(row.config))
  const opened = row.sealedSecrets === null ? '{}' : sealer.unseal(row.sealedSecrets, purposeOf(row))
  const secrets = SecretSettings.partial().parse(JSON.parse(opened))
  return { model, aiProvider, plan, plain, secrets, tools, instructions, image, runtimeVersion }
}

export function toConfiguration(
  sealer: Sealer,
  agent: AgentRow,
  { tools, instructions }: Pick<Configuration, 'tools' | 'instructions'>,
): Configuration {
  const { image, runtimeVersion } = agent
  return { ...readAgentSettings(sealer, agent), tools, instructions, image, runtimeVersion }
}

function toColumns(sealer: Sealer, row: Pick<RevisionRow, 'agentId' | 'number'>, configuration: Configuration) {
  const { plain, secrets, ...columns } = configuration
  const isAnySet = Object.keys(secrets).length > 0
  const sealedSecrets = isAnySet ? sealer.seal(JSON.stringify(secrets), purposeOf(row)) : null
  return { ...columns, config: JSON.stringify(plain), sealedSecrets }
}

function isSame(a: Configuration, b: Configuration): boolean {
  // A first deployment only fills in fields that were unknown.
  const seen = { image: a.image ?? b.image, runtimeVersion: a.runtimeVersion ?? b.runtimeVersion }
  return Bun.deepEquals({ ...a, ...seen }, b)
}

function purposeOf({ agentId, number }: Pick<RevisionRow, 'agentId' | 'number'>): SealPurpose {
  return `agent_revisions:${agentId}:${number}`
}

function forgetOldest(tx: Tx, agentId: string): void {
  const condition = eq(agentRevisions.agentId, agentId)
  const isOld = beyondNewest(tx, { condition, newest: agentRevisions.number, count: MAX_REVISIONS })
  if (!isOld) return
  const healthy = findHealthyRevision(tx, agentId)
  tx.delete(agentRevisions)
    .where(and(isOld, healthy ? ne(agentRevisions.number, healthy.number) : undefined))
    .run()
}

/** The first deployment decides image and version. */
function noteImage(tx: Tx, { agentId, number, image }: RevisionRow, seen: Configuration): void {
  if (image === seen.image) return
  const isThis = and(eq(agentRevisions.agentId, agentId), eq(agentRevisions.number, number))
  tx.update(agentRevisions).set({ image: seen.image, runtimeVersion: seen.runtimeVersion }).where(isThis).run()
}
