import { createReadStream, createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { extract, type Pack, pack } from 'tar-stream'
import { z } from 'zod'
import { AgentSpec, RUNTIMES } from '../../adapters/runtimes/contract/runtime.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { sha256 } from '../../core/secrets.ts'

/** Size and SHA-256 of a stream. */
export type Sum = Pick<BackupFile, 'bytes' | 'sha256'>

/** Upper bound for the manifest and its checksum at the start of a backup. */
const MAX_MANIFEST_BYTES = 64 * 1024 ** 2

/** Counts and hashes the chunks of a stream; call `sum` after the stream has ended. */
export function createSummer() {
  const hash = new Bun.CryptoHasher('sha256')
  let bytes = 0
  return {
    async *through(chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        bytes += chunk.length
        yield chunk
      }
    },
    sum: (): Sum => ({ bytes, sha256: hash.digest('hex') }),
  }
}

export async function sumFile(file: string): Promise<Sum> {
  const summer = createSummer()
  await pipeline(createReadStream(file), summer.through, async (chunks) => {
    for await (const _chunk of chunks);
  })
  return summer.sum()
}

/**
 * Writes a backup as a plain tar, sealed as a whole by `seal`: the manifest, its checksum, then every file, read from
 * `sourceOf(path)`. Files are compressed one by one so that damage can be attributed to one file.
 * @returns size and checksum of the written file.
 */
export async function writeArchive(
  file: string,
  manifest: Manifest,
  sourceOf: (path: string) => string,
  seal: Seal,
): Promise<Sum> {
  const archive = pack()
  const summer = createSummer()
  const writing = pipeline(
    Readable.from(archive),
    seal,
    summer.through,
    createWriteStream(file, { mode: 0o600, flags: 'wx' }),
  )
  await Promise.all([writing, fill(archive, manifest, sourceOf)])
  await flush(file)
  return summer.sum()
}

async function fill(archive: Pack, manifest: Manifest, sourceOf: (path: string) => string): Promise<void> {
  try {
    const text = `${JSON.stringify(manifest, null, 2)}\n`
    const mtime = new Date(manifest.createdAt)
    await addText(archive, { name: MANIFEST, mtime }, text)
    await addText(archive, { name: MANIFEST_SUM, mtime }, `${sha256(text)}  ${MANIFEST}\n`)
    for (const { path, bytes } of manifest.files) {
      const source = sourceOf(path)
      const { size } = await stat(source)
      if (size !== bytes) throw new AppError('internal', `${path} changed while it was packed`)
      await pipeline(createReadStream(source), archive.entry({ name: path, size, mode: 0o600, mtime }))
    }
    archive.finalize()
  } catch (error) {
    archive.destroy(error instanceof Error ? error : undefined)
    throw error
  }
}

function addText(archive: Pack, header: { name: string; mtime: Date }, text: string): Promise<void> {
  return new Promise((done, fail) =>
    archive.entry({ ...header, mode: 0o600 }, text, (error) => (error ? fail(error) : done())),
  )
}

/**
 * Passes the entries to `take` in order; `take` must read each to its end.
 * @throws AppError `invalid` when the tar is incomplete or damaged.
 */
export async function readArchive(
  file: string,
  passphrase: string | null,
  take: (name: string, content: Readable) => Promise<void>,
): Promise<void> {
  const archive = extract()
  let last = 'its beginning'
  const taking = async () => {
    for await (const entry of archive) {
      last = entry.header.name
      await take(entry.header.name, Readable.from(entry))
      entry.resume()
    }
  }
  try {
    await Promise.all([pipeline(await openBackup(file, passphrase), archive), taking()])
  } catch (error) {
    archive.destroy()
    if (error instanceof AppError || isOfSystem(error)) throw error
    throw new AppError('invalid', `the archive cannot be read after ${last} (${errorMessage(error)})`)
  }
}

/**
 * Reads the manifest without reading the rest of the backup.
 * @throws AppError `invalid` when it is missing, was altered, or has a newer format.
 */
export async function readManifest(file: string, passphrase: string | null): Promise<Manifest> {
  const archive = extract()
  const reading = pipeline(await openBackup(file, passphrase, MAX_MANIFEST_BYTES), archive).catch(
    (error: unknown) => error,
  )
  const texts: Buffer[] = []
  try {
    for await (const entry of archive) {
      const isExpected = entry.header.name === (texts.length === 0 ? MANIFEST : MANIFEST_SUM)
      if (!isExpected) throw new AppError('invalid', 'this is not a backup of Stead, or its manifest was altered')
      texts.push(await buffer(entry))
      if (texts.length === 2) break
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('invalid', `manifest.json cannot be read (${errorMessage(error)})`)
  } finally {
    archive.destroy()
    const error = await reading
    // biome-ignore lint/correctness/noUnsafeFinally: an unreadable file matters more than its content.
    if (isOfSystem(error)) throw error
  }
  return parseManifest(texts)
}

function parseManifest([text, sum]: Buffer[]): Manifest {
  if (!text || !sum) throw new AppError('invalid', 'this is not a backup of Stead, or it is truncated')
  if (sum.toString() !== `${sha256(text.toString())}  ${MANIFEST}\n`) {
    throw new AppError('invalid', 'manifest.json was altered: its checksum differs')
  }
  const parsed = Manifest.safeParse(JSON.parse(text.toString()))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new AppError('invalid', `manifest.json is not understood: ${issue?.path.join('.')} ${issue?.message}`)
}

/** Returns whether the operating system, not the content of the file, caused the error. */
function isOfSystem(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error
}

/** Syncs a file or folder to disk. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}

/** First line of every file in the age format (https://age-encryption.org/v1). */
const AGE_HEADER = 'age-encryption.org/v1\n'

/** log2 of the scrypt cost, the default of `age -p`: about one second on a fast machine. */
const SCRYPT_WORK_FACTOR = 18

type Seal = (chunks: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>

/** Encrypts a stream with `passphrase` as `age -p` does; null passes it through unchanged. */
export function createSeal(passphrase: string | null, scryptWorkFactor = SCRYPT_WORK_FACTOR): Seal {
  return async function* (chunks) {
    if (passphrase === null) return yield* chunks
    const { Encrypter } = await import('age-encryption')
    const encrypter = new Encrypter()
    encrypter.setPassphrase(passphrase)
    encrypter.setScryptWorkFactor(scryptWorkFactor)
    yield* await encrypter.encrypt(toStream(chunks))
  }
}

async function isSealed(file: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(AGE_HEADER.length), 0, AGE_HEADER.length, 0)
    return buffer.toString('utf8', 0, bytesRead) === AGE_HEADER
  } finally {
    await handle.close()
  }
}

/**
 * Opens a backup, decrypting it if it is sealed, and reads at most `maxBytes` of the file.
 * @throws AppError `invalid` when it is sealed and `passphrase` is missing or wrong.
 */
async function openBackup(file: string, passphrase: string | null, maxBytes = Infinity): Promise<Readable> {
  const whole = Bun.file(file)
  const bytes = (maxBytes === Infinity ? whole : whole.slice(0, maxBytes)).stream()
  if (!(await isSealed(file))) return Readable.from(bytes)
  if (passphrase === null) throw new AppError('invalid', 'it is sealed: set BACKUP_PASSPHRASE_FILE to open it')
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase)
  try {
    return Readable.from(await decrypter.decrypt(bytes))
  } catch (error) {
    const isOther = errorMessage(error).includes('no identity matched')
    throw new AppError(
      'invalid',
      isOther
        ? 'the passphrase is not the one that it was sealed with'
        : `its seal is damaged (${errorMessage(error)})`,
      {},
      { cause: error },
    )
  }
}

function toStream(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}

/** Entries that the manifest does not list: itself and its SHA-256. */
export const MANIFEST = 'manifest.json'
export const MANIFEST_SUM = 'manifest.json.sha256'
export const DATABASE = 'data/stead.db.gz'
export const INSTANCE = 'data/instance.id'
export const KEY = 'data/encryption.key'

/** Folders of the data folder that hold user files, besides those of the agents. */
export const FOLDERS = ['workspace', 'videos'] as const

/** Only these paths are written or restored, because a backup may come from an untrusted source. */
const Path = z.union([
  z.string().regex(/^data\/(?:stead\.db\.gz|instance\.id|webhook\.key|encryption\.key(?:\.until-[0-9TZ]+)?)$/),
  z.enum(FOLDERS.map((name) => `data/${name}.tar.gz` as const)),
  z.string().regex(/^agents\/[a-z0-9][a-z0-9-]{0,40}\.tar\.gz$/),
])

/** A file of the archive; `bytes` and `sha256` describe it as stored, compressed or not. */
const BackupFile = z.object({
  path: Path,
  bytes: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type BackupFile = z.infer<typeof BackupFile>

/**
 * `whole`: a consistent snapshot. `moving`: files are complete but the agent wrote while they were read. `none`: the
 * agent has no files. `missing`: the files could not be read, see `reason`.
 */
const STATES = ['whole', 'moving', 'none', 'missing'] as const

const BackupAgent = z.object({
  id: AgentSpec.shape.id,
  name: z.string(),
  runtime: z.enum(RUNTIMES).nullable(),
  state: z.enum(STATES),
  reason: z.string().nullable(),
})
export type BackupAgent = z.infer<typeof BackupAgent>

/**
 * Content of a backup. `schema.version` is the number of applied migrations, `schema.migration` the last of them. `key`
 * is `kept` when the encryption key is included, `given` when it was a setting, `none` when no key existed yet.
 */
export const Manifest = z.object({
  format: z.literal('stead-backup'),
  formatVersion: z.literal(1),
  createdAt: z.iso.datetime(),
  stead: z.string(),
  instance: z.string(),
  schema: z.object({ version: z.number().int(), migration: z.string().nullable() }),
  /** Uncompressed size; missing in older backups. */
  databaseBytes: z.number().int().nonnegative().optional(),
  key: z.enum(['kept', 'given', 'none']),
  files: z.array(BackupFile),
  agents: z.array(BackupAgent),
})
export type Manifest = z.infer<typeof Manifest>

/** Returns the path of an agent's files in a backup. */
export function toAgentPath(id: string): string {
  return `agents/${id}.tar.gz`
}
