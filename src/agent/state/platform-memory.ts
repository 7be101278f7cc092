import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pRetry from 'p-retry'
import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createPlatformCall, type PlatformCall } from '../platform.ts'
import { syncFolder } from './files.ts'
import { type FactStore, noSuchFact, readKeptFacts, toFactText, toKey } from './memory.ts'

const IMPORT_RETRY = { retries: Number.POSITIVE_INFINITY, minTimeout: 1000, maxTimeout: 60_000, unref: true }

/** Calls are idempotent, so they can be retried. */
const PATH = '/v1/memory'

const Facts = z.object({ facts: z.array(z.object({ key: z.string(), text: z.string(), isWhole: z.boolean() })) })
const Whole = z.object({ text: z.string() })
const Imported = z.object({ imported: z.number() })
const Done = z.unknown()

type PlatformMemorySettings = { platformUrl: string; platformToken: string; folder: string }

/**
 * Memory that the platform stores for this agent. It caches nothing, so changes by the owner are visible at once. Facts
 * of an older local file are imported once; the file is then renamed, and deleted when memory is cleared. `stopping`
 * ends the import attempts.
 */
export function createPlatformMemory(
  settings: PlatformMemorySettings,
  deps: { fetch: typeof fetch; log: Log; stopping: AbortSignal },
): FactStore {
  const call = createPlatformCall(settings, deps.fetch)
  const handOver = createHandOver(settings.folder, call, deps.log)
  const onFailedAttempt = ({ error }: { error: Error }) =>
    deps.log.warn({ error: errorMessage(error) }, 'failed to import the memory file; retrying later')
  pRetry(handOver, { ...IMPORT_RETRY, onFailedAttempt, signal: deps.stopping }).catch(() => undefined)
  // The import's own retries handle a failure; facts that the platform already has can be used.
  const settled = () => handOver().catch(() => undefined)

  return {
    async list() {
      await settled()
      return (await call(Facts, { path: PATH })).facts
    },
    async recall(key, signal) {
      await settled()
      return named(key, async () => (await call(Whole, { path: PATH, query: { key }, signal })).text)
    },
    async remember(text, { name, session, page } = {}, signal) {
      const fact = { key: toKey(name), memory: toFactText(text), session, page }
      await settled()
      await call(Done, { path: PATH, method: 'POST', body: fact, signal })
      return { key: fact.key }
    },
    async forget(key, signal) {
      await settled()
      await named(key, () => call(Done, { path: PATH, method: 'DELETE', query: { key }, signal }))
    },
    async clear() {
      await call(Done, { path: PATH, method: 'DELETE', query: { all: 'true' } })
      for (const name of Object.values(FILES)) await rm(join(settings.folder, name), { force: true })
      await syncFolder(settings.folder)
    },
    check: async () => undefined,
  }
}

/** Names of the local file: before the import, after it, and if it cannot be read. */
const FILES = { kept: 'memory.json', imported: 'memory.imported.json', unreadable: 'memory.unreadable.json' }

/** Creates a function that imports the local file, one attempt at a time, and does nothing without the file. */
function createHandOver(folder: string, call: PlatformCall, log: Log): () => Promise<void> {
  const path = join(folder, FILES.kept)
  const setAside = async (name: string) => {
    await rename(path, join(folder, name))
    await syncFolder(dirname(path))
  }
  const attempt = async () => {
    if (!(await Bun.file(path).exists())) return
    const facts = await readKeptFacts(path).catch(async (error) => {
      log.error({ path, error: errorMessage(error) }, 'the memory file cannot be read and is renamed')
      await setAside(FILES.unreadable)
      return null
    })
    if (facts === null) return
    const { imported } = await call(Imported, { method: 'POST', path: `${PATH}/import`, body: { facts } })
    await setAside(FILES.imported)
    log.info({ facts: facts.length, imported }, 'imported the facts of the memory file into the platform')
  }
  let under: Promise<void> | null = null
  let isDone = false
  return () => {
    if (isDone) return Promise.resolve()
    under ??= attempt()
      .then(() => {
        isDone = true
      })
      .finally(() => {
        under = null
      })
    return under
  }
}

/** Names the fact in the error, because the platform's message does not. */
async function named<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError && error.kind === 'not_found' ? noSuchFact(key) : error
  }
}
