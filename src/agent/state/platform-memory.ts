import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pRetry, { AbortError } from 'p-retry'
import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { requestIdHeader } from '../../core/request-id.ts'
import { readProblem, toAnswerError } from '../platform-fetch.ts'
import { syncFolder } from './files.ts'
import { type Memory, noSuchFact, readKeptFacts, toFactText, toKey } from './memory.ts'

const TIMEOUT_MS = 10_000
/** A platform that is started again is back within a second or two. */
const RETRY = { retries: 4, minTimeout: 150, factor: 2, randomize: true }
const IMPORT_RETRY = { retries: Number.POSITIVE_INFINITY, minTimeout: 1000, maxTimeout: 60_000, unref: true }
/** What a proxy or a platform says that is being started again. */
const PASSING = new Set([502, 503, 504])

const Facts = z.object({ facts: z.array(z.object({ key: z.string(), text: z.string(), isWhole: z.boolean() })) })
const Whole = z.object({ text: z.string() })
const Imported = z.object({ imported: z.number() })
const Done = z.unknown()

export type PlatformMemorySettings = { platformUrl: string; platformToken: string; folder: string }

/**
 * The memory that the platform keeps for this agent: nothing of it is kept here, so that what anybody stores or forgets
 * there counts at once. A file of facts from before is handed over once, and then set aside until memory is cleared.
 * `stopping` ends the attempts to hand it over.
 */
export function createPlatformMemory(
  settings: PlatformMemorySettings,
  deps: { fetch: typeof fetch; log: Log; stopping: AbortSignal },
): Memory {
  const call = createCall(settings, deps.fetch)
  const handOver = createHandOver(settings.folder, call, deps.log)
  const onFailedAttempt = ({ error }: { error: Error }) =>
    deps.log.warn({ error: errorMessage(error) }, 'the memory file could not be handed over yet')
  pRetry(handOver, { ...IMPORT_RETRY, onFailedAttempt, signal: deps.stopping }).catch(() => undefined)
  // Whether it worked is the business of the attempts above: what the platform knows already is known in any case.
  const settled = () => handOver().catch(() => undefined)

  return {
    async list() {
      await settled()
      return (await call(Facts, {})).facts
    },
    async recall(key, signal) {
      await settled()
      return named(key, async () => (await call(Whole, { query: { key }, signal })).text)
    },
    async remember(text, name, signal) {
      const fact = { key: toKey(name), memory: toFactText(text) }
      await settled()
      await call(Done, { method: 'POST', body: fact, signal })
      return { key: fact.key }
    },
    async forget(key, signal) {
      await settled()
      await named(key, () => call(Done, { method: 'DELETE', query: { key }, signal }))
    },
    async clear() {
      await call(Done, { method: 'DELETE', query: { all: 'true' } })
      for (const name of Object.values(FILES)) await rm(join(settings.folder, name), { force: true })
      await syncFolder(settings.folder)
    },
    check: async () => undefined,
  }
}

/** What was kept here before, what was handed over, and what nobody can read. */
const FILES = { kept: 'memory.json', imported: 'memory.imported.json', unreadable: 'memory.unreadable.json' }

/** Hands the file over to the platform, and does nothing once there is none; one attempt at a time. */
function createHandOver(folder: string, call: Call, log: Log): () => Promise<void> {
  const path = join(folder, FILES.kept)
  const setAside = async (name: string) => {
    await rename(path, join(folder, name))
    await syncFolder(dirname(path))
  }
  const attempt = async () => {
    if (!(await Bun.file(path).exists())) return
    const facts = await readKeptFacts(path).catch(async (error) => {
      log.error({ path, error: errorMessage(error) }, 'the memory file cannot be read; it is set aside')
      await setAside(FILES.unreadable)
      return null
    })
    if (facts === null) return
    const { imported } = await call(Imported, { method: 'POST', path: '/import', body: { facts } })
    await setAside(FILES.imported)
    log.info({ facts: facts.length, imported }, 'facts of the memory file are the platform’s now')
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

type Call = <Schema extends z.ZodType>(schema: Schema, ask: Asked) => Promise<z.infer<Schema>>
type Asked = {
  method?: string
  path?: string
  query?: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
}

/** Every call may be made twice: it says what is to be, not what is to change. */
function createCall({ platformUrl, platformToken }: PlatformMemorySettings, plainFetch: typeof fetch): Call {
  const attempt = async <Schema extends z.ZodType>(schema: Schema, asked: Asked): Promise<z.infer<Schema>> => {
    const { method = 'GET', path = '', query = {}, body, signal } = asked
    const timeout = AbortSignal.timeout(TIMEOUT_MS)
    const response = await plainFetch(`${platformUrl}/v1/memory${path}?${new URLSearchParams(query)}`, {
      method,
      headers: {
        authorization: `Bearer ${platformToken}`,
        'content-type': 'application/json',
        ...requestIdHeader(),
      },
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error) => {
      if (signal?.aborted) throw new AbortError(toError(signal.reason))
      if (timeout.aborted) throw new AbortError(new AppError('upstream_timeout', 'The platform did not answer in time'))
      throw new AppError('upstream_failed', 'The platform cannot be reached', {}, { cause: error })
    })
    if (response.ok) return parseAnswer(schema, await response.text())
    const problem = await readProblem(response)
    if (PASSING.has(response.status)) throw toAnswerError(problem, response.status)
    throw new AbortError(toCallError(problem, response.status))
  }
  return (schema, asked) => pRetry(() => attempt(schema, asked), RETRY)
}

function parseAnswer<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    const message = 'The platform answered something unexpected'
    throw new AbortError(new AppError('upstream_failed', message, {}, { cause: error }))
  }
}

/** What the agent itself got wrong is told to its model in the platform's words. */
function toCallError(problem: Parameters<typeof toAnswerError>[0], status: number): AppError {
  if (status === 400) return new AppError('invalid', problem.message)
  return status === 404 ? new AppError('not_found', problem.message) : toAnswerError(problem, status)
}

/** The platform does not repeat the name. */
async function named<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError && error.kind === 'not_found' ? noSuchFact(key) : error
  }
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
