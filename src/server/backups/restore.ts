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
import { toRestoredStates } from './restored-states.ts'
import { flush, type BackupAgent, FOLDERS, type Manifest, toAgentPath } from './archive.ts'
import type { Report } from './create.ts'
import { endAgents } from './end-agents.ts'
import { extractBackup, requireBackup } from './verify.ts'
import { isUnfinished, markFinished, markUnfinished, putAside, removeRestored, undoUnfinished } from './unfinished.ts'

/** `isInPlace`: the folder is that of an installation, which is stopped. `givenKey` is for backups without a key. */
export type RestoreOrder = {
  file: string
  dataDir: string
  isInPlace: boolean
  givenKey: string | null
  /** For one that is sealed. */
  passphrase?: string | null
  /** The engine whose containers of this installation are stopped. */
  dockerHost?: string
}

/**
 * What was brought back, each agent with what became of its state. `replaced` is the folder with what was there before;
 * `standsBack` says why the agents are left alone until `stead adopt`, null when they are not.
 */
export type Restored = {
  dataDir: string
  createdAt: string
  schema: number
  agents: BackupAgent[]
  /** Ids of the agents that ran in its place and were ended. */
  ended: string[]
  replaced: string | null
  standsBack: string | null
}

const DEFAULT_DOCKER_HOST = '/var/run/docker.sock'
/** What stands in an empty folder anyway. */
const NOTHING = new Set(['instance.lock', 'lost+found'])

/**
 * Brings an installation back from a backup, after everything in that was proved. Until the very end the folder is either as
 * it was or says that a restore was broken off, and then nothing starts on it.
 * @throws StartupError for a folder that is in use, not empty, or of a newer version; AppError `invalid` naming all that is
 * wrong with the backup. Agents of the folder that run are ended once the backup is proved.
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
      standsBack: describeResidence(dataDir),
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

/** A restore that was broken off leaves a folder that may be restored into. */
function requireEmpty(dataDir: string): void {
  if (readdirSync(dataDir).every((name) => NOTHING.has(name)) || isUnfinished(dataDir)) return
  throw new StartupError(
    `DATA_DIR: ${dataDir} is not empty: name another folder, or stop Stead and use --in-place to replace what is there`,
  )
}

type Prepared = { ready: string; manifest: Manifest; agents: BackupAgent[] }

/** Makes all that is to come into the data folder beside it, on the same disk. */
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

/** Why the restored installation leaves the agents alone until it is adopted. */
function describeResidence(dataDir: string): string | null {
  const databaseFile = join(dataDir, 'stead.db')
  const sqlite = openForReading(databaseFile)
  try {
    const db = toDb(sqlite)
    return hasTable(db, 'residence') ? findStandbyReason(db, toHere({ dataDir, databaseFile })) : null
  } finally {
    sqlite.close()
  }
}

/** The folder is again as it was: empty, or not there. */
function forget(dataDir: string, isNew: boolean): void {
  removeRestored(dataDir)
  if (isUnfinished(dataDir)) markFinished(dataDir)
  if (isNew) rmSync(dataDir, { recursive: true, force: true })
}

function toStaging(dataDir: string): string {
  return join(dataDir, '.restoring')
}
