import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { migrations } from '../../../migrations/list.ts'
import { agentFolder } from '../../adapters/runtimes/process/files.ts'
import { restoreStateFolder } from '../../adapters/runtimes/process/snapshot.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError, StartupError } from '../../core/errors.ts'
import { giveTreeToOwnerOf } from '../../core/files/ownership.ts'
import { lockDataDir } from '../../db/instance-lock.ts'
import { listPendingMigrations } from '../../db/migrate.ts'
import { hasTable, openForReading, toDb } from '../../db/open.ts'
import { findStandbyReason } from '../../features/agents/ownership/ownership.ts'
import { toHere } from '../open.ts'
import { type BackupAgent, FOLDERS, flush, type Manifest, toAgentPath } from './archive.ts'
import type { Report } from './create.ts'
import { endAgents } from './end-agents.ts'
import { toRestoredStates } from './restored-states.ts'
import { isUnfinished, markFinished, markUnfinished, putAside, removeRestored, undoUnfinished } from './unfinished.ts'
import { extractBackup, requireBackup } from './verify.ts'

/** `isInPlace` replaces a stopped installation in the folder. `givenKey` is for backups without a key. */
export type RestoreOrder = {
  file: string
  dataDir: string
  isInPlace: boolean
  givenKey: string | null
  /** Required for a sealed backup. */
  passphrase?: string | null
  /** Container engine in which the agents of this installation are stopped. */
  dockerHost?: string
}

/**
 * Result of a restore, with the outcome for each agent. `replaced` is the folder of the previous installation;
 * `standsBack` says why the agents stay stopped until `stead adopt`, null when they do not.
 */
export type Restored = {
  dataDir: string
  createdAt: string
  schema: number
  agents: BackupAgent[]
  /** Ids of running agents that were stopped. */
  ended: string[]
  replaced: string | null
  standsBack: string | null
}

const DEFAULT_DOCKER_HOST = '/var/run/docker.sock'
/** Entries that an empty folder may have. */
const NOTHING = new Set(['instance.lock', 'lost+found'])

/**
 * Restores an installation after verifying the whole backup. Until the last step the folder is unchanged or marked as
 * unfinished, and the server refuses to start on it. Running agents of the folder are stopped once the backup is
 * verified.
 * @throws StartupError for a folder that is in use, not empty, or of a newer version; AppError `invalid` listing every
 * problem of the backup.
 */
export async function restoreBackup(
  { clock }: { clock: Clock },
  order: RestoreOrder,
  report: Report,
): Promise<Restored> {
  const { file, dataDir, isInPlace, dockerHost = DEFAULT_DOCKER_HOST } = order
  await requireBackup(file)
  const isNew = !existsSync(dataDir)
  if (!isNew && !isInPlace) requireEmpty(dataDir)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const unlock = lockDataDir(dataDir)
  try {
    undoUnfinished(dataDir)
    if (!isInPlace) {
      markUnfinished(dataDir, { replaced: null, isAside: true })
      removeRestored(dataDir)
    }
    const { ready, manifest, agents } = await prepare(order, report)
    if (isInPlace) report('ending the agents')
    const ended = isInPlace ? await endAgents(dataDir, dockerHost) : []
    report('putting everything in its place')
    const replaced = isInPlace ? `replaced-${clock.now().toISOString().replace(/[:.]/g, '-')}` : null
    giveTreeToOwnerOf(dataDir, ready)
    if (replaced !== null) putAside(dataDir, replaced)
    for (const name of readdirSync(ready)) renameSync(join(ready, name), join(dataDir, name))
    chmodSync(dataDir, 0o700)
    markFinished(dataDir)
    const { createdAt, schema } = manifest
    const former = replaced && join(dataDir, replaced)
    return {
      dataDir,
      createdAt,
      schema: schema.version,
      agents,
      ended,
      replaced: former,
      standsBack: describeStandby(dataDir),
    }
  } catch (error) {
    if (!isInPlace) forget(dataDir, isNew)
    else undoUnfinished(dataDir)
    throw error
  } finally {
    rmSync(toStaging(dataDir), { recursive: true, force: true })
    unlock()
  }
}

/** Accepts an empty folder or one of an interrupted restore. */
function requireEmpty(dataDir: string): void {
  if (readdirSync(dataDir).every((name) => NOTHING.has(name)) || isUnfinished(dataDir)) return
  throw new StartupError(
    `DATA_DIR: ${dataDir} is not empty: name another folder, or stop Stead and use --in-place to replace its content`,
  )
}

type Prepared = { ready: string; manifest: Manifest; agents: BackupAgent[] }

/** Unpacks everything next to its destination, on the same disk, so that one rename puts it in place. */
async function prepare(
  { file, dataDir, givenKey, passphrase = null }: RestoreOrder,
  report: Report,
): Promise<Prepared> {
  const staging = toStaging(dataDir)
  const ready = join(staging, 'ready')
  rmSync(staging, { recursive: true, force: true })
  await mkdir(ready, { recursive: true, mode: 0o700 })
  report('unpacking and proving the backup')
  const { manifest, problems } = await extractBackup(file, staging, givenKey, passphrase)
  if (manifest === null || problems.length > 0) {
    throw new AppError('invalid', `restore: ${file} is not whole: ${problems.join('; ')}`)
  }
  requireKnownSchema(join(staging, 'stead.db'))
  await placeData(staging, ready)
  const agents: BackupAgent[] = []
  for (const agent of manifest.agents) {
    report(`agent ${agents.length + 1} of ${manifest.agents.length}`, agents.length / manifest.agents.length)
    agents.push(await placeAgent(agent, staging, ready))
  }
  return { ready, manifest, agents }
}

function requireKnownSchema(database: string): void {
  const sqlite = openForReading(database)
  try {
    listPendingMigrations(sqlite, migrations)
  } finally {
    sqlite.close()
  }
}

async function placeData(staging: string, ready: string): Promise<void> {
  await flush(join(staging, 'stead.db'))
  await rename(join(staging, 'stead.db'), join(ready, 'stead.db'))
  for (const name of FOLDERS) {
    const archive = join(staging, 'data', `${name}.tar.gz`)
    if (existsSync(archive)) await unpackInto(join(ready, name), archive)
  }
  const small = (await readdir(join(staging, 'data'))).filter((name) => /\.(?:id|key|until-[0-9TZ]+)$/.test(name))
  for (const name of small) {
    await copyFile(join(staging, 'data', name), join(ready, name))
    await flush(join(ready, name))
  }
}

async function placeAgent(agent: BackupAgent, staging: string, ready: string): Promise<BackupAgent> {
  const archive = join(staging, toAgentPath(agent.id))
  if (!existsSync(archive)) return agent
  if (agent.runtime !== 'process') {
    await mkdir(toRestoredStates(ready), { recursive: true, mode: 0o700 })
    await rename(archive, join(toRestoredStates(ready), `${agent.id}.tar.gz`))
    return agent
  }
  const folder = agentFolder(join(ready, 'agents'), agent.id)
  try {
    await mkdir(folder.dir, { recursive: true, mode: 0o700 })
    await restoreStateFolder(folder, archive)
    return agent
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await rm(folder.dir, { recursive: true, force: true })
    return { ...agent, state: 'missing', reason: error.message }
  }
}

async function unpackInto(folder: string, archive: string): Promise<void> {
  const beside = (what: string) => join(folder, '..', `.${basename(folder)}.${what}`)
  await restoreStateFolder({ state: folder, restoring: beside('restoring'), replaced: beside('replaced') }, archive)
}

/** Returns why the restored installation is on standby; null when it is not. */
function describeStandby(dataDir: string): string | null {
  const databaseFile = join(dataDir, 'stead.db')
  const sqlite = openForReading(databaseFile)
  try {
    const db = toDb(sqlite)
    return hasTable(db, 'residence') ? findStandbyReason(db, toHere({ dataDir, databaseFile })) : null
  } finally {
    sqlite.close()
  }
}

/** Removes the partial restore and, if the restore created it, the folder. */
function forget(dataDir: string, isNew: boolean): void {
  removeRestored(dataDir)
  if (isUnfinished(dataDir)) markFinished(dataDir)
  if (isNew) rmSync(dataDir, { recursive: true, force: true })
}

function toStaging(dataDir: string): string {
  return join(dataDir, '.restoring')
}
