import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../../core/errors.ts'
import { objectNotFound } from './folder.ts'
import type { Objects } from './objects.ts'
import { type ObjectStore, openObjectStore, type S3Settings, toStoreError } from './s3.ts'

/** Keeps objects in a bucket. Files pass through a private folder in `TMPDIR`. */
export function openBucket(address: string, settings: S3Settings): Objects {
  const store = openObjectStore(address, settings)
  return {
    list: (prefix) => store.listBelow(prefix),
    findSize: (name) => store.findSize(name),
    put: (name, write) =>
      withFolder(async (file) => {
        await write(file)
        await store.put(name, file)
        await requireWhole(store, name, (await stat(file)).size)
      }),
    use: (name, work) =>
      withFolder(async (file) => {
        await fetchObject(store, name, file)
        return work(file)
      }),
    read: (name, range) => store.read(name, range),
    async move(from, to) {
      if ((await store.findSize(from)) === null) return
      await withFolder(async (file) => {
        await fetchObject(store, from, file)
        await store.put(to, file)
      })
      await store.remove(from)
    },
    remove: (name) => store.remove(name),
    async removeAll(prefix) {
      for (const { name } of await store.listBelow(prefix)) await store.remove(name)
    },
  }
}

async function withFolder<T>(work: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'stead-object-'))
  try {
    return await work(join(folder, 'object'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function fetchObject(store: ObjectStore, name: string, file: string): Promise<void> {
  const size = await store.findSize(name)
  if (size === null) throw objectNotFound(name)
  await pipeline(Readable.from(store.read(name)), createWriteStream(file, { mode: 0o600 })).catch((error) => {
    throw error instanceof AppError ? error : toStoreError(store.locate(name), error)
  })
  // A connection that breaks may end the stream without an error.
  const received = (await stat(file)).size
  if (received !== size) throw new AppError('unavailable', `${store.locate(name)}: ${received} of ${size} bytes came`)
}

async function requireWhole(store: ObjectStore, name: string, size: number): Promise<void> {
  const stored = await store.findSize(name)
  if (stored === size) return
  throw new AppError('unavailable', `${store.locate(name)}: the server stored ${stored ?? 0} of ${size} bytes`)
}
