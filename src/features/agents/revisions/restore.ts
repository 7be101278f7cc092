import { inArray } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { type ImageDeps, requireImage } from '../operations/images.ts'
import { OPERATOR, requestOperation, toRequester } from '../operations/operations.ts'
import { findReachableEndpoint } from '../registry/address.ts'
import { getAgent } from '../registry/agents.ts'
import type { CheckModel } from '../registry/checks.ts'
import { writeSettings } from '../registry/config.ts'
import { requirePlanOfAgent } from '../registry/limits.ts'
import type { AgentRow } from '../registry/tables.ts'
import { compareConfigurations } from './compare.ts'
import {
  type Configuration,
  listRevisions,
  PLATFORM,
  readRevision,
  recordRevision,
  toConfiguration,
  WATCHDOG_AUTHOR,
} from './record.ts'
import type { Revision, RevisionDetail } from './schemas.ts'
import type { RecordedTools, RevisionRow } from './tables.ts'

/** Replaces the tool settings of an agent in the caller's transaction; null restores the plan's defaults. */
type RestoreTools = (tx: Tx, agent: AgentRow, tools: RecordedTools | null, now: Date) => void

export type RestoreDeps = Base & {
  checkModel: CheckModel
  runtimes: Pick<Runtimes, 'runtimeOf'>
  imageRules: ImageDeps['imageRules']
  findUser: ImageDeps['findUser']
  gateway: Pick<AgentGateway, 'writeInstructions'>
  restoreTools: RestoreTools
}

/** Lists the configurations of an agent, newest first. @throws AppError `not_found` for a missing or foreign agent. */
export function showRevisions(deps: Base, principal: Principal, agentId: string): Revision[] {
  const rows = listRevisions(deps.db, getAgent(deps.db, principal, agentId).id)
  const names = findNames(deps.db, rows)
  const opened = rows.map((row) => readRevision(deps.sealer, row))
  return rows.map((row, index) => toRevision(row, { opened, index, names }))
}

/** Returns a revision and what restoring it would change. @throws AppError `not_found`. */
export function showRevision(deps: Base, principal: Principal, agentId: string, number: number): RevisionDetail {
  const agent = getAgent(deps.db, principal, agentId)
  const revision = showRevisions(deps, principal, agentId).find((one) => one.number === number)
  const [latest] = listRevisions(deps.db, agentId)
  const row = getRevision(deps.db, agentId, number)
  if (!revision || !latest) throw notFound()
  const present = toConfiguration(deps.sealer, agent, latest)
  const restored = { ...readRevision(deps.sealer, row), runtimeVersion: present.runtimeVersion }
  return { revision, restoring: compareConfigurations(present, withoutUnknown(restored, present)) }
}

/**
 * Restores a configuration as a new revision, and redeploys an agent that runs or sleeps.
 * @throws AppError `not_found`; `invalid` for a model, plan or image that the caller may no longer choose; `conflict`
 * when the instructions differ and the agent does not run. Nothing is changed then.
 */
export async function restoreRevision(
  deps: RestoreDeps,
  principal: Principal,
  agentId: string,
  number: number,
): Promise<Revision> {
  const agent = getAgent(deps.db, principal, agentId)
  const wanted = readRevision(deps.sealer, getRevision(deps.db, agentId, number))
  await requireRestorable(deps, principal, agent, wanted)
  await restoreInstructions(deps, agent, wanted)
  const restored = await write(deps.db, (tx) => {
    const before = getAgent(tx, principal, agentId)
    const author = toRequester(principal)
    const [latest] = listRevisions(tx, agentId)
    const { tools, instructions } = wanted
    deps.restoreTools(tx, before, tools, deps.clock.now())
    writeSettings(deps, tx, before, wanted)
    const image = wanted.image === before.image ? null : wanted.image
    requestRedeployment(deps, tx, before, { author, image })
    recordAudit(tx, { actor: author, action: 'agent.restore-configuration', target: agentId }, deps.clock.now())
    const kept = { tools, instructions: instructions ?? latest?.instructions ?? null }
    return recordRevision(deps, tx, agentId, { author, restoredFrom: number, ...kept })
  })
  const shown = showRevisions(deps, principal, agentId).find((one) => one.number === restored)
  if (!shown) throw notFound()
  return shown
}

/** An update installs the image and starts the agent with its new settings. */
function requestRedeployment(
  deps: Base,
  tx: Tx,
  { id, status, image: previousImage }: AgentRow,
  { author, image }: { author: string; image: string | null },
): void {
  if (status !== 'running' && status !== 'sleeping' && status !== 'provisioning' && status !== 'error') return
  const kind = image === null ? 'deploy' : 'update'
  requestOperation(deps, tx, id, { kind, requestedBy: author, ...(image !== null && { image, previousImage }) })
}

async function requireRestorable(
  deps: RestoreDeps,
  principal: Principal,
  agent: AgentRow,
  { plan, model, secrets, image }: Configuration,
): Promise<void> {
  if (plan !== agent.plan) requirePlanOfAgent(principal, plan)
  const hasOwnKey = secrets.apiKey !== undefined
  if (model !== agent.model) deps.checkModel(model, { ownerId: agent.ownerId, hasOwnKey })
  if (image === null || image === agent.image) return
  await requireImage({ ...deps, runtime: deps.runtimes.runtimeOf(agent) }, principal, image)
}

async function restoreInstructions(
  { db, sealer, gateway }: RestoreDeps,
  agent: AgentRow,
  { instructions }: Configuration,
): Promise<void> {
  const [latest] = listRevisions(db, agent.id)
  if (instructions === null || instructions === latest?.instructions) return
  const endpoint = findReachableEndpoint(sealer, agent)
  if (!endpoint) {
    const message = 'The agent is not running, and its instructions are a file of it: start it first'
    throw new AppError('conflict', message, { code: 'AGENT_NOT_RUNNING' })
  }
  await gateway.writeInstructions(endpoint, instructions)
}

/** Keeps the present instructions and image where the revision does not record them. */
function withoutUnknown(restored: Configuration, present: Configuration): Configuration {
  return {
    ...restored,
    instructions: restored.instructions ?? present.instructions,
    image: restored.image ?? present.image,
  }
}

function getRevision(db: Db, agentId: string, number: number): RevisionRow {
  const row = listRevisions(db, agentId).find((one) => one.number === number)
  if (!row) throw notFound()
  return row
}

function notFound(): AppError {
  return new AppError('not_found', 'Revision not found')
}

function findNames(db: Db, rows: readonly RevisionRow[]): ReadonlyMap<string, string> {
  const ids = [...new Set(rows.map(({ author }) => author))]
  const found = db.select({ id: users.id, name: users.name }).from(users).where(inArray(users.id, ids)).all()
  return new Map(found.map(({ id, name }) => [id, name]))
}

type Shown = { opened: readonly Configuration[]; index: number; names: ReadonlyMap<string, string> }

function toRevision(row: RevisionRow, { opened, index, names }: Shown): Revision {
  const [configuration, before = null] = opened.slice(index, index + 2)
  const { number, restoredFrom, model, image, runtimeVersion, createdAt, healthyAt } = row
  return {
    number,
    author: toAuthor(row.author, names),
    restoredFrom,
    isCurrent: index === 0,
    model,
    image,
    runtimeVersion,
    changes: configuration && before ? compareConfigurations(before, configuration) : [],
    createdAt: createdAt.toISOString(),
    healthyAt: healthyAt?.toISOString() ?? null,
  }
}

function toAuthor(author: string, names: ReadonlyMap<string, string>): Revision['author'] {
  if (author === OPERATOR || author === PLATFORM || author === WATCHDOG_AUTHOR)
    return { kind: author, id: null, name: null }
  return { kind: 'user', id: author, name: names.get(author) ?? null }
}
