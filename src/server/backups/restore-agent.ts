import { copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { migrations } from '../../../migrations/list.ts'
import { writeSnapshot } from '../../adapters/runtimes/process/snapshot.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { giveToOwnerOf } from '../../core/files/ownership.ts'
import { createSealer, type Sealer } from '../../core/secrets.ts'
import { migrate } from '../../db/migrate.ts'
import { type Connection, openDatabase, type Tx } from '../../db/open.ts'
import { openWriteQueue, write } from '../../db/write.ts'
import { recordAudit } from '../../features/accounts/audit/audit.ts'
import { sealAgain } from '../../features/accounts/encryption/sealed-values.ts'
import { users } from '../../features/accounts/users/tables.ts'
import { findUnfinished, isBeingRemoved } from '../../features/agents/operations/operations.ts'
import { findAgentRow, newAccessToken, newGatewayToken } from '../../features/agents/registry/agents.ts'
import { type AgentRow, agents } from '../../features/agents/registry/tables.ts'
import { type BroughtRows, bringRows, planRows, type RowPlan, removeRows } from './agent-rows.ts'
import { type BackupAgent, flush, type Manifest, toAgentPath } from './archive.ts'
import type { Report } from './create.ts'
import { toRestoredStates } from './restored-states.ts'
import { AGENT_STAGING } from './staging.ts'
import { extractBackup, readKey, requireBackup } from './verify.ts'
/** `replaces` allows an existing, stopped agent to be overwritten. `givenKey` is for backups without a key. */
export type AgentRestoreOrder = {
  file: string
  agentId: string
  replaces: boolean
  givenKey: string | null
  /** Required for a sealed backup. */
  passphrase?: string | null
}

/** Result of restoring one agent; `missing` describes each part that was not restored. */
export type RestoredAgent = {
  agent: Pick<BackupAgent, 'id' | 'name' | 'runtime' | 'state'>
  createdAt: string
  replaced: boolean
  rows: BroughtRows[]
  missing: string[]
}

/** The extracted backup and the agent in it. */
type Source = { folder: string; manifest: Manifest; agent: BackupAgent; row: AgentRow; database: string }

/**
 * Restores one agent from a backup: its row, settings, memory, conversations, tasks and files, which it receives at its
 * next start. The agent is stopped and gets new tokens. The platform may be running; a crash leaves all of it or
 * nothing.
 * @throws AppError `invalid` for a damaged backup, `not_found` when the agent is not in it, `conflict` when an agent of
 * this id exists and may not be replaced, is not stopped or has another owner, and when its owner's account does not
 * exist.
 */
export async function restoreAgent(
  deps: { clock: Clock; connection: Connection; dataDir: string; key: string },
  order: AgentRestoreOrder,
  report: Report,
): Promise<RestoredAgent> {
  await requireBackup(order.file)
  const folder = await mkdtemp(join(deps.dataDir, AGENT_STAGING))
  try {
    report('unpacking and proving the backup')
    const source = await openSource(deps, order, folder)
    report('bringing the agent back')
    const stateFile = await placeState(deps, order, source)
    return await bring(deps, order, source, stateFile)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function openSource(deps: { key: string }, order: AgentRestoreOrder, folder: string): Promise<Source> {
  const { manifest, problems } = await extractBackup(order.file, folder, order.givenKey, order.passphrase ?? null)
  if (manifest === null || problems.length > 0) {
    throw new AppError('invalid', `restore: ${order.file} is not whole: ${problems.join('; ')}`)
  }
  const agent = manifest.agents.find(({ id }) => id === order.agentId)
  if (!agent) throw new AppError('not_found', `restore: there is no agent ${order.agentId} in ${order.file}`)
  const database = join(folder, 'stead.db')
  const formerKey = await readKey(folder, manifest, order.givenKey)
  const row = await modernize(database, agent.id, createSealer(deps.key), formerKey)
  return { folder, manifest, agent, row, database }
}

/**
 * Migrates the extracted database and seals its secrets with the key of this installation.
 * @returns the agent's row.
 * @throws AppError `not_found` without one.
 */
async function modernize(
  database: string,
  agentId: string,
  sealer: Sealer,
  formerKey: string | null,
): Promise<AgentRow> {
  const copy = openDatabase(database)
  try {
    migrate(copy.sqlite, migrations)
    openWriteQueue(copy)
    if (formerKey !== null && !isSameKey(formerKey, sealer)) {
      await write(copy.db, (tx) => sealAgain(tx, createSealer(formerKey), sealer))
    }
    const row = findAgentRow(copy.db, agentId)
    if (!row) throw new AppError('not_found', `restore: there is no agent ${agentId} in the backup`)
    return row
  } finally {
    copy.close()
  }
}

function isSameKey(key: string, sealer: Sealer): boolean {
  return createSealer(key).deriveKey('key-check').equals(sealer.deriveKey('key-check'))
}

/**
 * Stores the agent's files under a new name that no row refers to yet.
 * @returns the name; null when the backup has no files for it.
 */
async function placeState(
  { dataDir, clock }: { clock: Clock; dataDir: string },
  { agentId, replaces }: AgentRestoreOrder,
  { folder, agent }: Source,
): Promise<string | null> {
  const packed = join(folder, toAgentPath(agentId))
  if (agent.state === 'missing' || (agent.state === 'none' && !replaces)) return null
  // Existing files must be replaced even when the backup holds none.
  if (agent.state === 'none') await writeSnapshot({ state: join(folder, 'nothing') }, packed)
  const name = `${agentId}@${clock.now().toISOString().replace(/[:.]/g, '-')}.tar.gz`
  const waiting = toRestoredStates(dataDir)
  await mkdir(waiting, { recursive: true, mode: 0o700 })
  const part = join(waiting, `${name}.part`)
  await copyFile(packed, part)
  await flush(part)
  giveToOwnerOf(dataDir, waiting, part)
  await rename(part, join(waiting, name))
  await flush(waiting)
  return name
}

async function bring(
  deps: { clock: Clock; connection: Connection; dataDir: string; key: string },
  order: AgentRestoreOrder,
  source: Source,
  stateFile: string | null,
): Promise<RestoredAgent> {
  const { connection, dataDir } = deps
  const { agent, manifest } = source
  const toFile = (name: string) => join(toRestoredStates(dataDir), name)
  connection.sqlite.prepare('ATTACH ? AS backup').run(source.database)
  try {
    const plans = planRows(connection.sqlite)
    const { before, rows } = await write(connection.db, (tx) =>
      bringInto(deps, tx, { order, plans, stateFile, source }),
    )
    if (before?.restoredState) await rm(toFile(before.restoredState), { force: true })
    const { id, name, runtime, state } = agent
    const missing = describeMissing(agent, rows)
    return {
      agent: { id, name, runtime, state },
      createdAt: manifest.createdAt,
      replaced: before !== null,
      rows,
      missing,
    }
  } catch (error) {
    if (stateFile) await rm(toFile(stateFile), { force: true })
    throw error
  } finally {
    connection.sqlite.exec('DETACH backup')
  }
}

type Bringing = { order: AgentRestoreOrder; plans: RowPlan[]; stateFile: string | null; source: Source }

function bringInto(
  deps: { clock: Clock; connection: Connection; key: string },
  tx: Tx,
  { order, plans, stateFile, source }: Bringing,
) {
  const { agentId, replaces } = order
  const wanted = source.row
  const before = findAgentRow(tx, agentId) ?? null
  if (isBeingRemoved(tx, agentId)) throw refuse(`${agentId} is still being deleted: try again`)
  requireOwner(tx, wanted)
  if (before) requireReplaceable(tx, before, wanted, replaces)
  const now = deps.clock.now()
  const sealer = createSealer(deps.key)
  const row = {
    ...wanted,
    ...newGatewayToken(sealer, agentId),
    ...newAccessToken(sealer, agentId),
    ...toStopped(before, wanted),
    restoredState: stateFile ?? before?.restoredState ?? null,
    updatedAt: now,
  }
  if (before) {
    removeRows(tx, plans, agentId)
    tx.update(agents).set(row).where(eq(agents.id, agentId)).run()
  } else tx.insert(agents).values(row).run()
  const rows = bringRows(deps.connection, plans, agentId)
  const detail = { backup: source.manifest.createdAt, replaced: before !== null }
  recordAudit(tx, { actor: 'cli', action: 'agent.restore', target: agentId, detail }, now)
  return { before, rows }
}

/** Marks the agent as stopped. An existing agent keeps its port, machine and runtime. */
function toStopped(before: AgentRow | null, wanted: AgentRow) {
  return {
    status: 'stopped',
    port: before?.port ?? null,
    host: before?.host ?? null,
    runtime: before?.runtime ?? wanted.runtime,
    retiringTokenHash: null,
    tokensChangedAt: null,
    startedAt: null,
    downAt: null,
    lastError: null,
  } as const
}

function requireOwner(tx: Tx, { ownerId }: AgentRow): void {
  if (ownerId === null || tx.select({ id: users.id }).from(users).where(eq(users.id, ownerId)).get()) return
  throw refuse(`its owner's account ${ownerId} does not exist`)
}

function requireReplaceable(tx: Tx, before: AgentRow, wanted: AgentRow, replaces: boolean): void {
  const { id } = before
  if (before.ownerId !== wanted.ownerId) throw refuse(`agent ${id} exists and belongs to another account`)
  if (!replaces) throw refuse(`agent ${id} exists: use --replace to overwrite it`)
  if (before.status !== 'stopped' || findUnfinished(tx, id)) throw refuse(`${id} is ${before.status}: stop it first`)
}

function refuse(message: string): AppError {
  return new AppError('conflict', `restore: ${message}`)
}

function describeMissing({ state, reason }: BackupAgent, rows: readonly BroughtRows[]): string[] {
  const stored = state === 'missing' ? [`its files are not in the backup: ${reason}`] : []
  const left = rows.filter(({ brought, inBackup }) => brought < inBackup)
  return [
    ...stored,
    ...left.map(
      ({ table, brought, inBackup }) =>
        `${inBackup - brought} of ${inBackup} rows of ${table}: they were unfinished, or rows they refer to no longer exist`,
    ),
  ]
}
