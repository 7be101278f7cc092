import { createReadStream, createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { extract, type Pack, pack } from 'tar-stream'
import { AppError, errorMessage } from '../../core/errors.ts'
import { sha256 } from '../../core/secrets.ts'
import { type BackupFile, MANIFEST, MANIFEST_SUM, Manifest } from './manifest.ts'
import { openBackup, type Seal } from './seal.ts'

/** How many bytes a stream had and their SHA-256. */
export type Sum = Pick<BackupFile, 'bytes' | 'sha256'>

/** The manifest and its sum are within the first bytes of a backup. */
const MAX_MANIFEST_BYTES = 64 * 1024 ** 2

/** Counts and hashes what goes through it; `sum` tells when all has. */
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
 * Writes a backup: the manifest, its sum, and each of its files from where `sourceOf` says, in a plain tar that any `tar`
 * reads; `seal` closes it as a whole. Its files are compressed one by one, so that a fault in one of them is
 * told from one in another.
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

/** One entry after the other; `take` reads each to its end. @throws AppError `invalid` for what is no whole tar. */
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
 * The manifest of a backup, from its first bytes alone.
 * @throws AppError `invalid` when it is none, was altered, or is of a newer version.
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
      if (!isExpected) throw new AppError('invalid', 'this is no backup of Stead, or its manifest was altered')
      texts.push(await buffer(entry))
      if (texts.length === 2) break
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('invalid', `manifest.json cannot be read (${errorMessage(error)})`)
  } finally {
    archive.destroy()
    const error = await reading
    // biome-ignore lint/correctness/noUnsafeFinally: the file itself cannot be read, which is told before anything else.
    if (isOfSystem(error)) throw error
  }
  return parseManifest(texts)
}

function parseManifest([text, sum]: Buffer[]): Manifest {
  if (!text || !sum) throw new AppError('invalid', 'this is no backup of Stead, or it was cut off')
  if (sum.toString() !== `${sha256(text.toString())}  ${MANIFEST}\n`) {
    throw new AppError('invalid', 'manifest.json was altered: its checksum differs')
  }
  const parsed = Manifest.safeParse(JSON.parse(text.toString()))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new AppError('invalid', `manifest.json is not understood: ${issue?.path.join('.')} ${issue?.message}`)
}

/** Is it the disk, and not what stands on it? */
function isOfSystem(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error
}

/** Durable when it resolves. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}
