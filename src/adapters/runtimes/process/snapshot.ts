import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, readlink, realpath, rename, rm, symlink, utimes } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { type Extract, extract, type Header, type Pack, pack } from 'tar-stream'
import { AppError } from '../../../core/errors.ts'
import { type AgentFolder, errorCode } from './files.ts'

/** A folder that is replaced as a whole, with the paths of the new and the old content during the replacement. */
type StateFolder = Pick<AgentFolder, 'state' | 'restoring' | 'replaced'>

type HeaderOf = Pick<Header, 'name'> & Partial<Header>
type Entry = Extract extends AsyncIterable<infer Source> ? Source : never

/**
 * Writes the state folder to `file`, a gzipped tar of mode 0600, atomically. Links out of the folder, sockets and
 * pipes are left
 * out.
 */
export async function writeSnapshot(folder: Pick<AgentFolder, 'state'>, file: string): Promise<void> {
  const part = `${file}.part`
  await rm(part, { force: true })
  try {
    await packFolder(folder.state, createWriteStream(part, { mode: 0o600 }))
    await flush(part)
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Writes a folder to `sink` as a gzipped tar, like `writeSnapshot`. */
export async function packFolder(root: string, sink: Writable): Promise<void> {
  const archive = pack()
  await Promise.all([pipeline(archive, createGzip(), sink), fill(archive, root)])
}

/**
 * Replaces the state folder by a snapshot. A crash leaves the old or the new folder; `settleRestore` cleans up.
 * @throws AppError `invalid` for an archive with paths or links outside, before any change.
 */
export async function restoreStateFolder(folder: StateFolder, file: string): Promise<void> {
  await settleRestore(folder)
  try {
    await mkdir(folder.restoring, { mode: 0o700 })
    await unpackFolder(createReadStream(file), folder.restoring, folder.state)
  } catch (error) {
    await rm(folder.restoring, { recursive: true, force: true })
    throw error
  }
  await moveIfThere(folder.state, folder.replaced)
  await rename(folder.restoring, folder.state)
  await rm(folder.replaced, { recursive: true, force: true })
}

/** Cleans up after a crash: restores the old state unless the new one is in place. */
export async function settleRestore(folder: StateFolder): Promise<void> {
  if (!(await exists(folder.state))) await moveIfThere(folder.replaced, folder.state)
  await rm(folder.replaced, { recursive: true, force: true })
  await rm(folder.restoring, { recursive: true, force: true })
}

async function fill(archive: Pack, root: string): Promise<void> {
  try {
    if (await exists(root)) await addFolder(archive, root, '')
    archive.finalize()
  } catch (error) {
    archive.destroy(error instanceof Error ? error : undefined)
    throw error
  }
}

async function addFolder(archive: Pack, root: string, inside: string): Promise<void> {
  for (const entry of await readdir(join(root, inside), { withFileTypes: true })) {
    const name = join(inside, entry.name)
    const path = join(root, name)
    if (entry.isDirectory()) {
      await addEntry(archive, { ...(await describe(path)), name, type: 'directory' })
      await addFolder(archive, root, name)
    } else if (entry.isSymbolicLink()) {
      const target = resolve(dirname(path), await readlink(path))
      // Relative, so that the link works when the folder is moved.
      const linkname = relative(dirname(path), target) || '.'
      if (isInside(root, target)) await addEntry(archive, { name, type: 'symlink', linkname })
    } else if (entry.isFile()) {
      await addFile(archive, name, path)
    }
  }
}

function addEntry(archive: Pack, headers: HeaderOf): Promise<void> {
  return new Promise((done, fail) => archive.entry(headers, '', (error) => (error ? fail(error) : done())))
}

async function addFile(archive: Pack, name: string, path: string): Promise<void> {
  const { size, ...headers } = await describe(path)
  if (size === 0) return addEntry(archive, { ...headers, name, size })
  // Created first: it throws when the archive has failed, and a stream opened before would leak.
  const sink = archive.entry({ ...headers, name, size })
  await pipeline(createReadStream(path, { end: size - 1 }), sink)
}

async function describe(path: string) {
  const { mode, mtime, size } = await lstat(path)
  return { mode: mode & 0o777, mtime, size }
}

/**
 * Unpacks a gzipped tar to `root`; absolute links are resolved against `finalRoot`, where the folder will be moved.
 * @throws AppError `invalid` for an archive with paths or links outside.
 */
export async function unpackFolder(source: Readable, root: string, finalRoot: string): Promise<void> {
  const archive = extract()
  const reading = pipeline(source, createGunzip(), archive)
  const links: { path: string; target: string }[] = []
  const unpacking = async () => {
    for await (const entry of archive) {
      const { type, name, linkname } = entry.header
      // Docker's archives begin with the folder itself.
      if (type === 'directory' && resolve(finalRoot, name) === finalRoot) {
        entry.resume()
        continue
      }
      const path = join(root, requireInside(finalRoot, name))
      if (type === 'directory') await makeFolder(path, entry.header.mode)
      else if (type === 'symlink') links.push({ path, target: requireLink(finalRoot, name, linkname ?? '') })
      else if (type === 'file' || type === 'contiguous-file') await writeEntry(path, entry)
      else throw new AppError('invalid', `The snapshot holds something that is no file: ${name}`)
      entry.resume()
    }
  }
  try {
    await Promise.all([reading, unpacking()])
  } catch (error) {
    archive.destroy()
    throw error instanceof AppError
      ? error
      : new AppError('invalid', 'The snapshot cannot be read', {}, { cause: error })
  }
  // Links last, so that no file is written through one.
  for (const { path, target } of links) await makeLink(root, path, target)
}

/** @throws AppError `invalid` for a link below another link, which would end up at another path. */
async function makeLink(root: string, path: string, target: string): Promise<void> {
  const parent = dirname(path)
  await makeFolder(parent)
  const isPlain = relative(await realpath(root), await realpath(parent)) === relative(root, parent)
  if (!isPlain) throw new AppError('invalid', `The snapshot holds a link below a link: ${relative(root, path)}`)
  await symlink(target, path)
}

async function makeFolder(path: string, mode = 0o700): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  await chmod(path, (mode & 0o777) | 0o700)
}

async function writeEntry(path: string, entry: Entry): Promise<void> {
  const { mode = 0o600, mtime } = entry.header
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await pipeline(entry, createWriteStream(path, { flags: 'wx', mode: mode & 0o777 }))
  if (mtime) await utimes(path, mtime, mtime)
  await flush(path)
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}

/** @returns the name. @throws AppError `invalid` for a path outside of `root`, or `root` itself. */
function requireInside(root: string, name: string): string {
  const path = resolve(root, name)
  if (!isAbsolute(name) && !name.includes('\0') && path !== root && isInside(root, path)) return name
  throw new AppError('invalid', `The snapshot holds a path that lies outside: ${name}`)
}

/** @returns the target, without `..` after a folder, which could be another link. */
function requireLink(root: string, name: string, target: string): string {
  const from = dirname(join(root, name))
  const to = resolve(from, target)
  if (target !== '' && isInside(root, to)) return relative(from, to) || '.'
  throw new AppError('invalid', `The snapshot holds a link that leads outside: ${name}`)
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

async function moveIfThere(from: string, to: string): Promise<void> {
  if (await exists(from)) await rename(from, to)
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
