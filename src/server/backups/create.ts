import { createReadStream, createWriteStream, existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { migrations } from '../../../migrations/list.ts'
import { openObjects } from '../../adapters/objects/open-objects.ts'
import { readStoredInDocker } from '../../adapters/runtimes/docker/docker.ts'
import { createEngine } from '../../adapters/runtimes/engine/engine.ts'
import { readStoredInSwarm } from '../../adapters/runtimes/swarm/swarm.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config, ObjectsPlace } from '../../core/config.ts'
import { AppError, StartupError } from '../../core/errors.ts'
import { requireWritableFolder } from '../../core/files/ownership.ts'
import { VERSION } from '../../core/version.ts'
import { leaveLog } from '../../db/cluster/position.ts'
import { copyDatabase } from '../../db/copy.ts'
import { openForReading } from '../../db/open.ts'
import { listKeyFiles, toKeyFile } from '../keys/key-file.ts'
import {
  type BackupAgent,
  createSeal,
  DATABASE,
  FOLDERS,
  INSTANCE,
  KEY,
  type Manifest,
  type Sum,
  sumFile,
  writeArchive,
} from './archive.ts'
import { captureFolder, captureStates, listAgents, type ReadStored } from './capture.ts'
import { openStaging, removeForgotten, type Staging } from './staging.ts'
import { examineDatabase } from './verify.ts'

export type BackupConfig = Pick<Config, 'dataDir' | 'databaseFile' | 'encryptionKey'> & {
  agents: Pick<Config['agents'], 'dockerHost'>
  /** Where videos are stored; without it, in `dataDir`. */
  objects?: ObjectsPlace
  /** Tests set a lower `scryptWorkFactor` to save time. */
  backups?: Pick<Config['backups'], 'passphrase'> & { to?: string; scryptWorkFactor?: number }
}

/** Reports the current step and, where known, its progress from 0 to 1. */
export type Report = (what: string, done?: number) => void

/** A finished backup: location, checksum, and the outcome for each agent's files. */
export type CreatedBackup = Sum & { file: string; schema: number; agents: BackupAgent[] }

/**
 * Creates a backup of a running or stopped installation: database, keys, user files, and the files of each agent. It
 * gets its name when it is complete, verified and on disk. Parts are staged in the data folder, so a crash leaves keys
 * and database nowhere else.
 * @param output an existing folder, or a file name that does not exist yet.
 * @throws StartupError without an installation or when the folder cannot be written; AppError `conflict` when the file
 * exists, `internal` when the database is damaged or its key does not match, `unavailable` when the disk refuses the
 * write.
 */
export async function createBackup(
  { config, clock }: { config: BackupConfig; clock: Clock },
  output: string,
  report: Report = () => {},
): Promise<CreatedBackup> {
  if (!existsSync(config.databaseFile))
    throw new StartupError(`DATA_DIR: there is no ${config.databaseFile} to back up`)
  const createdAt = clock.now()
  const passphrase = config.backups?.passphrase ?? null
  const file = await toFile(resolve(output), toName(config, createdAt, passphrase !== null), config)
  await removeForgotten(config.dataDir)
  const staging = await openStaging(config.dataDir)
  try {
    const manifest = await stage(config, createdAt, staging, report)
    report('writing the archive')
    const archive = join(staging.path, 'archive.tar')
    const seal = createSeal(passphrase, config.backups?.scryptWorkFactor)
    const sum = await writeArchive(archive, manifest, staging.toStaged, seal)
    if (existsSync(file)) throw new AppError('conflict', `backup: ${file} already exists`)
    await staging.deliver(archive, file)
    return { file, ...sum, schema: manifest.schema.version, agents: manifest.agents }
  } catch (error) {
    throw isFull(error) ? new AppError('unavailable', `backup: ${error.message}`, {}, { cause: error }) : error
  } finally {
    await staging.remove()
  }
}

/**
 * Returns the file name: the UTC time, and for a sealed backup the installation, because its manifest cannot be read
 * without the passphrase.
 */
function toName({ dataDir }: BackupConfig, createdAt: Date, isToBeSealed: boolean): string {
  const time = createdAt.toISOString().replace(/[:.]/g, '-')
  const instance = join(dataDir, 'instance.id')
  const name = existsSync(instance) ? readFileSync(instance, 'utf8').trim() : 'new'
  return isToBeSealed ? `stead-${time}.${name}.tar.age` : `stead-${time}.tar`
}

/** Returns the file to write and creates its folder, accessible to its owner only. */
async function toFile(output: string, name: string, { backups, dataDir }: BackupConfig): Promise<string> {
  const isFolder = existsSync(output) ? (await stat(output)).isDirectory() : extname(output) === ''
  const file = isFolder ? join(output, name) : output
  if (existsSync(file)) throw new AppError('conflict', `backup: ${file} already exists`)
  requireWritableFolder(output === backups?.to ? 'BACKUP_TO' : 'backup', dirname(file), dataDir)
  return file
}

async function stage(config: BackupConfig, createdAt: Date, staging: Staging, report: Report): Promise<Manifest> {
  const { dataDir, databaseFile, encryptionKey } = config
  const database = join(staging.path, 'stead.db')
  await copyDatabase(databaseFile, database, (done) => report('copying the database', done))
  // A restored database continues no log.
  leaveLog(database)
  const keys = await stageSmallFiles(dataDir, staging)
  const key = encryptionKey ? 'given' : keys.includes(KEY) ? 'kept' : 'none'
  report('proving the database')
  const schema = requireWhole(database, encryptionKey ?? (await readStaged(staging, KEY)))
  await pipeline(
    createReadStream(database),
    createGzip(),
    createWriteStream(staging.toStaged(DATABASE), { mode: 0o600 }),
  )
  const { size: databaseBytes } = await stat(database)
  const rows = withDatabase(database, listAgents)
  await rm(database)
  for (const name of FOLDERS) {
    report(`copying ${name}`)
    const capture = (folder: string) => captureFolder(folder, staging.toStaged(`data/${name}.tar.gz`))
    if (name === 'videos' && config.objects) await withObjects(config.objects, name, staging, capture)
    else await capture(join(dataDir, name))
  }
  const instance = (await readStaged(staging, INSTANCE)) ?? ''
  const engines = toEngines(config, instance)
  const agents = await captureStates(
    rows,
    { agentsFolder: join(dataDir, 'agents'), engines },
    staging.toStaged,
    (done) => report(`agent ${done + 1} of ${rows.length}`, done / rows.length),
  )
  const files = await sumAll(staging)
  const head = { format: 'stead-backup', formatVersion: 1, createdAt: createdAt.toISOString(), stead: VERSION } as const
  return { ...head, instance, schema, databaseBytes, key, files, agents }
}

/** Calls `work` with a folder of the objects below a prefix, which come from the bucket if they are in one. */
async function withObjects(
  place: ObjectsPlace,
  prefix: string,
  staging: Staging,
  work: (folder: string) => Promise<unknown>,
): Promise<void> {
  if ('folder' in place) {
    await work(join(place.folder, prefix))
    return
  }
  const objects = openObjects(place)
  const folder = join(staging.path, 'objects')
  for (const { name } of await objects.list(`${prefix}/`)) {
    await mkdir(dirname(join(folder, name)), { recursive: true, mode: 0o700 })
    await objects.use(name, (file) => copyFile(file, join(folder, name))).catch(ignoreRemoved)
  }
  await work(join(folder, prefix))
  await rm(folder, { recursive: true, force: true })
}

/** An object may be removed between the list and its copy. */
function ignoreRemoved(error: unknown): void {
  if (!(error instanceof AppError && error.kind === 'not_found')) throw error
}

/** Copies keys and other small files. @returns the paths of the files that exist. */
async function stageSmallFiles(dataDir: string, staging: Staging): Promise<string[]> {
  const main = toKeyFile(dataDir)
  const keys = listKeyFiles(dataDir).filter((file) => !file.endsWith('.next'))
  const staged: string[] = []
  const take = async (file: string, path: string) => {
    if (!existsSync(file)) return
    await copyFile(file, staging.toStaged(path))
    staged.push(path)
  }
  for (const file of keys) await take(file, `data/encryption.key${basename(file).slice(basename(main).length)}`)
  await take(join(dataDir, 'instance.id'), INSTANCE)
  await take(join(dataDir, 'webhook.key'), 'data/webhook.key')
  return staged
}

function toEngines({ agents: { dockerHost } }: BackupConfig, instance: string): ReadStored {
  const deps = { engine: createEngine(dockerHost), instance }
  return {
    docker: (id, file) => readStoredInDocker(deps, id, file),
    swarm: (id, file) => readStoredInSwarm(deps, id, file),
  }
}

/** Rejects a damaged or newer database: an unusable copy must not look like a backup. */
function requireWhole(database: string, key: string | null): Manifest['schema'] {
  const { problems, schema } = withDatabase(database, (sqlite) => examineDatabase(sqlite, key))
  if (problems.length > 0) throw new AppError('internal', `backup: the database: ${problems.join('; ')}`)
  if (schema.version > migrations.length) {
    throw new StartupError('Database: written by a newer version of Stead, which must make the backup')
  }
  return schema
}

function withDatabase<T>(file: string, work: (sqlite: ReturnType<typeof openForReading>) => T): T {
  const sqlite = openForReading(file)
  try {
    return work(sqlite)
  } finally {
    sqlite.close()
  }
}

async function readStaged(staging: Staging, path: string): Promise<string | null> {
  const file = staging.toStaged(path)
  return existsSync(file) ? (await Bun.file(file).text()).trim() : null
}

async function sumAll(staging: Staging): Promise<Manifest['files']> {
  const files: Manifest['files'] = []
  for (const group of ['data', 'agents'] as const) {
    for (const name of (await readdir(join(staging.path, group))).sort()) {
      const path = `${group}/${name}`
      files.push({ path, ...(await sumFile(staging.toStaged(path))) })
    }
  }
  return files
}

/** Returns whether the disk refused the write. */
function isFull(error: unknown): error is Error {
  return (
    error instanceof Error &&
    'code' in error &&
    /^(?:ENOSPC|EDQUOT|EACCES|EROFS|EIO|SQLITE_FULL|SQLITE_IOERR)/.test(String(error.code))
  )
}
