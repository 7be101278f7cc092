import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { errorCode } from '../../adapters/runtimes/process/files.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { createSealer } from '../../core/secrets.ts'
import { findDamage } from '../../db/copy.ts'
import { hasTable, openForReading, toDb } from '../../db/open.ts'
import { findKeyProblem } from '../../features/accounts/encryption/master-key.ts'
import { findClosed } from '../../features/accounts/encryption/sealed-values.ts'
import {
  type BackupFile,
  createSummer,
  DATABASE,
  KEY,
  MANIFEST,
  MANIFEST_SUM,
  type Manifest,
  readArchive,
  readManifest,
} from './archive.ts'

/** A backup in a folder, known by its manifest; `problem` says why the manifest cannot be read. */
export type ListedBackup = { file: string; bytes: number; manifest: Manifest | null; problem: string | null }

/**
 * Verifies a backup in a temporary folder of `parent`, as `extractBackup` does.
 * @throws AppError `not_found` when the file does not exist.
 */
export async function verifyBackup(
  file: string,
  givenKey: string | null,
  passphrase: string | null = null,
  parent: string = tmpdir(),
): Promise<Examined> {
  await requireBackup(file)
  const folder = await mkdtemp(join(parent, 'stead-verify-'))
  try {
    return await extractBackup(file, folder, givenKey, passphrase)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Checks that the file exists. @throws AppError `not_found` */
export async function requireBackup(file: string): Promise<void> {
  const stats = await stat(file).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  })
  if (!stats?.isFile()) throw new AppError('not_found', `backup: there is no file ${file}`)
}

/**
 * Lists the backups of a folder, oldest first; none when it does not exist.
 * @throws AppError `unavailable` when it cannot be read.
 */
export async function listBackups(folder: string, passphrase: string | null = null): Promise<ListedBackup[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw new AppError('unavailable', `backup: ${folder} cannot be read (${errorMessage(error)})`, {}, { cause: error })
  })
  const files = names.filter((name) => /\.tar(?:\.age)?$/.test(name)).map((name) => join(folder, name))
  // Sequential: decrypting a sealed backup takes about 256 MB of memory.
  const listed: ListedBackup[] = []
  for (const file of files) listed.push(await describe(file, passphrase))
  const timeOf = ({ manifest }: ListedBackup) => manifest?.createdAt ?? ''
  return listed.sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))
}

async function describe(file: string, passphrase: string | null): Promise<ListedBackup> {
  const bytes = (await stat(file)).size
  try {
    return { file, bytes, manifest: await readManifest(file, passphrase), problem: null }
  } catch (error) {
    // An unreadable file must not prevent the next backup.
    const isUnreadable = errorCode(error) === 'EACCES'
    if (!(error instanceof AppError) && !isUnreadable) throw error
    return { file, bytes, manifest: null, problem: errorMessage(error) }
  }
}

/** Largest compression ratio accepted when the manifest has no size, plus a margin for small files. */
const MOST_PACKED = 100
const SPARE_BYTES = 64 * 1024 ** 2

/** `problems` lists every fault found; empty when the backup is intact. `manifest` is null when it cannot be read. */
export type Examined = { manifest: Manifest | null; problems: string[] }

/**
 * Extracts a backup into `folder`, the database as `stead.db`, and verifies it: checksums, missing and extra files,
 * inner archives, database integrity and references, and that the key opens every sealed value.
 * @param givenKey for backups without a key.
 * @param passphrase for sealed backups.
 * @throws NodeJS.ErrnoException when the backup cannot be read or the folder cannot be written.
 */
export async function extractBackup(
  file: string,
  folder: string,
  givenKey: string | null,
  passphrase: string | null = null,
): Promise<Examined> {
  let manifest: Manifest
  try {
    manifest = await readManifest(file, passphrase)
  } catch (error) {
    if (error instanceof AppError) return { manifest: null, problems: [error.message] }
    throw error
  }
  const problems = await extractFiles(file, folder, manifest, passphrase)
  for (const { path } of manifest.files) {
    if (path.endsWith('.tar.gz')) problems.push(...(await examineArchive(folder, path)))
  }
  problems.push(...listUnmentioned(manifest), ...(await examineContent(folder, manifest, givenKey)))
  return { manifest, problems: [...new Set(problems)] }
}

async function extractFiles(
  file: string,
  folder: string,
  manifest: Manifest,
  passphrase: string | null,
): Promise<string[]> {
  for (const name of ['data', 'agents']) await mkdir(join(folder, name), { recursive: true, mode: 0o700 })
  const problems: string[] = []
  const expected = new Map(manifest.files.map((entry) => [entry.path as string, entry]))
  try {
    await readArchive(file, passphrase, async (name, content) => {
      const entry = expected.get(name)
      if (entry) problems.push(...(await writeEntry(content, folder, entry)))
      else if (name !== MANIFEST && name !== MANIFEST_SUM) problems.push(`${name} is not in the manifest`)
      expected.delete(name)
    })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    problems.push(error.message)
  }
  return [...problems, ...[...expected.keys()].map((path) => `${path} is missing`)]
}

async function writeEntry(content: Readable, folder: string, { path, bytes, sha256 }: BackupFile): Promise<string[]> {
  const summer = createSummer()
  await pipeline(content, summer.through, createWriteStream(join(folder, path), { mode: 0o600, flags: 'w' }))
  const sum = summer.sum()
  if (sum.bytes !== bytes) return [`${path} has ${sum.bytes} bytes instead of ${bytes}`]
  return sum.sha256 === sha256 ? [] : [`${path} was altered: its checksum differs`]
}

/** Checks that a gzipped tar can be read to its end. */
async function examineArchive(folder: string, path: string): Promise<string[]> {
  const file = join(folder, path)
  if (!existsSync(file)) return []
  const archive = extract()
  const reading = async () => {
    for await (const entry of archive) entry.resume()
  }
  try {
    await Promise.all([pipeline(createReadStream(file), createGunzip(), archive), reading()])
    return []
  } catch (error) {
    archive.destroy()
    return [`${path} cannot be unpacked (${errorMessage(error)})`]
  }
}

/** Lists the agent files that the manifest names and the archive lacks. */
function listUnmentioned({ agents, files }: Manifest): string[] {
  const paths = new Set<string>(files.map(({ path }) => path))
  const kept = agents.filter(({ state }) => state === 'whole' || state === 'moving')
  return kept.filter(({ id }) => !paths.has(`agents/${id}.tar.gz`)).map(({ id }) => `agents/${id}.tar.gz is missing`)
}

async function examineContent(folder: string, manifest: Manifest, givenKey: string | null): Promise<string[]> {
  const [packed, database] = [join(folder, DATABASE), join(folder, 'stead.db')]
  if (!existsSync(packed)) return [`${DATABASE} is missing`]
  try {
    const bound = boundTo(manifest)
    await pipeline(createReadStream(packed), createGunzip(), bound, createWriteStream(database, { mode: 0o600 }))
  } catch (error) {
    return [`${DATABASE} cannot be unpacked (${errorMessage(error)})`]
  }
  const key = await readKey(folder, manifest, givenKey)
  if (manifest.key === 'given' && key === null) {
    return [`${DATABASE}: its key is not in the backup: set ENCRYPTION_KEY to prove that it fits`]
  }
  return examineFile(database, manifest, key).map((problem) => `${DATABASE}: ${problem}`)
}

/**
 * Stops unpacking beyond the size in the manifest, so that a decompression bomb cannot fill the disk. Older manifests
 * have no size and are limited by a ratio.
 */
function boundTo({ databaseBytes, files }: Manifest) {
  const packedBytes = files.find(({ path }) => path === DATABASE)?.bytes ?? 0
  const most = databaseBytes ?? packedBytes * MOST_PACKED + SPARE_BYTES
  return async function* (chunks: AsyncIterable<Uint8Array>) {
    let bytes = 0
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > most) throw new Error(`it is larger than the ${most} bytes in the manifest`)
      yield chunk
    }
  }
}

/** Returns the encryption key of an extracted backup. */
export async function readKey(folder: string, { key }: Manifest, givenKey: string | null): Promise<string | null> {
  const file = join(folder, KEY)
  if (key === 'given' || !existsSync(file)) return givenKey
  return (await Bun.file(file).text()).trim()
}

function examineFile(database: string, { schema }: Manifest, key: string | null): string[] {
  let sqlite: ReturnType<typeof openForReading> | undefined
  try {
    sqlite = openForReading(database)
    const found = examineDatabase(sqlite, key)
    const isSame = found.problems.length > 0 || found.schema.version === schema.version
    return isSame ? found.problems : [`it has ${found.schema.version} migrations and not ${schema.version}`]
  } catch (error) {
    return [`it cannot be opened (${errorMessage(error)})`]
  } finally {
    sqlite?.close()
  }
}

/** Returns the problems of a database and its key, and the schema version. */
export function examineDatabase(
  sqlite: ReturnType<typeof openForReading>,
  key: string | null,
): { problems: string[]; schema: Manifest['schema'] } {
  const damage = findDamage(sqlite)
  if (damage !== null) return { problems: [damage], schema: { version: 0, migration: null } }
  const keyProblem = describeKey(sqlite, key)
  return { problems: keyProblem === null ? [] : [keyProblem], schema: readSchema(sqlite) }
}

function describeKey(sqlite: ReturnType<typeof openForReading>, key: string | null): string | null {
  const db = toDb(sqlite)
  const problem = findKeyProblem(db, key)
  if (problem === 'missing') return 'its encryption key is missing'
  if (problem === 'wrong') return 'the encryption key is not the one that it was sealed with'
  if (key === null) return null
  const closed = findClosed(db, createSealer(key))
  return closed && `${closed} cannot be opened with the encryption key`
}

function readSchema(sqlite: ReturnType<typeof openForReading>): Manifest['schema'] {
  if (!hasTable(toDb(sqlite), 'migrations')) return { version: 0, migration: null }
  const names = sqlite.prepare<[], { name: string }>('SELECT name FROM migrations ORDER BY name').all()
  return { version: names.length, migration: names.at(-1)?.name ?? null }
}
