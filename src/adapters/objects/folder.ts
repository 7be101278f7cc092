import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { ignoreMissing } from '../../core/files/system-error.ts'
import type { Objects } from './objects.ts'
import type { StoredObject } from './s3.ts'

/** Ending of a file that is not complete yet. */
const UNFINISHED = /\.(?:new|part)$/

/** Keeps objects as files below a folder. */
export function openFolder(root: string): Objects {
  const toPath = (name: string) => join(root, name)
  return {
    async list(prefix) {
      const found = await listBelow(root, prefix)
      return found.sort((a, b) => (a.name < b.name ? -1 : 1))
    },
    async findSize(name) {
      const stats = await stat(toPath(name)).catch(ignoreMissing)
      return stats?.isFile() ? stats.size : null
    },
    put: (name, write) => putFile(toPath(name), write),
    async use(name, work) {
      const file = toPath(name)
      if (!(await stat(file).catch(ignoreMissing))) throw objectNotFound(name)
      return work(file)
    },
    read: (name, { start, end }) => Bun.file(toPath(name)).slice(start, end).stream(),
    async move(from, to) {
      await makeFolder(dirname(toPath(to)))
      await rename(toPath(from), toPath(to)).catch(ignoreMissing)
    },
    remove: (name) => rm(toPath(name), { force: true }),
    removeAll: (prefix) => rm(toPath(prefix), { recursive: true, force: true }),
  }
}

async function putFile(file: string, write: (part: string) => Promise<unknown>): Promise<void> {
  await makeFolder(dirname(file))
  const part = `${file}.new`
  await rm(part, { force: true })
  try {
    await write(part)
    await flush(part)
    await rename(part, file)
    await flush(dirname(file))
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

async function listBelow(root: string, prefix: string): Promise<StoredObject[]> {
  const entries = (await readdir(join(root, prefix), { withFileTypes: true }).catch(ignoreMissing)) ?? []
  const found = await Promise.all(
    entries.map(async (entry) => {
      const name = `${prefix}${entry.name}`
      if (entry.isDirectory()) return listBelow(root, `${name}/`)
      const stats = UNFINISHED.test(name) ? undefined : await stat(join(root, name)).catch(ignoreMissing)
      return stats ? [{ name, sizeBytes: stats.size }] : []
    }),
  )
  return found.flat()
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}

/** Creates the error for a missing object. */
export function objectNotFound(name: string): AppError {
  return new AppError('not_found', `${name} is not stored any more`)
}
