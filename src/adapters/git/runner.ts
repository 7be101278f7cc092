import { TaskQueue } from '../../core/concurrency/keyed-queue.ts'
import { startWorker } from '../../core/concurrency/start-worker.ts'
import { AppError } from '../../core/errors.ts'
import type { GitOperation, GitOperations, GitReply } from './worker.ts'

/** Repositories are strangers: they are looked at in workers, with an end to time and memory. */
export type GitRunner = {
  /** @throws AppError as the operation does, and `internal` for a repository that takes too much. */
  run<Name extends GitOperation>(
    name: Name,
    ...args: Parameters<GitOperations[Name]>
  ): Promise<Awaited<ReturnType<GitOperations[Name]>>>
  close(): void
}

const MAX_WORKERS = 3
const MAX_MS: Readonly<Record<GitOperation, number>> = {
  status: 20_000,
  diff: 20_000,
  log: 20_000,
  commit: 60_000,
  push: 120_000,
}
const LOOK_EVERY_MS = 50
const IDLE_MS = 30_000
/** How much the process may grow while one works; what others take meanwhile counts as well. */
const MAX_GROWTH_BYTES = 768 * 1024 * 1024
/** The executable carries the worker under its path from `src`; `scripts/build.ts` names it. */
const WORKER = Bun.isStandaloneExecutable ? './adapters/git/worker.ts' : new URL('./worker.ts', import.meta.url).href

/** Nothing runs before the first operation. A worker whose operation takes too much is ended and replaced. */
export function createGitRunner({ maxGrowthBytes = MAX_GROWTH_BYTES, idleMs = IDLE_MS } = {}): GitRunner {
  const lanes = Array.from({ length: MAX_WORKERS }, () => createLane(idleMs))
  let turn = 0
  return {
    run(name, ...args) {
      const lane = lanes.find(({ queue }) => queue.isIdle) ?? lanes[turn++ % lanes.length]
      if (!lane) throw new Error('There are no workers')
      return lane.queue.run(() => perform(lane, name, args, maxGrowthBytes))
    },
    close() {
      for (const lane of lanes) lane.end()
    },
  }
}

type Lane = ReturnType<typeof createLane>

/** One worker, and those who wait for it. */
function createLane(idleMs: number) {
  let worker: Worker | null = null
  let timer: Timer | undefined
  const end = () => {
    clearTimeout(timer)
    worker?.terminate()
    worker = null
  }
  return {
    queue: new TaskQueue(),
    wake(): Worker {
      clearTimeout(timer)
      worker ??= startWorker(WORKER)
      return worker
    },
    /** The memory of a worker without work is worth more than the moment it takes to start one. */
    rest() {
      timer = setTimeout(end, idleMs)
      timer.unref()
    },
    end,
  }
}

async function perform<Name extends GitOperation>(
  lane: Lane,
  name: Name,
  args: Parameters<GitOperations[Name]>,
  maxGrowthBytes: number,
): Promise<Awaited<ReturnType<GitOperations[Name]>>> {
  const watch = watchMemory(maxGrowthBytes)
  const limits = AbortSignal.any([AbortSignal.timeout(MAX_MS[name]), watch.signal])
  try {
    const reply = await ask(lane.wake(), name, args, limits)
    lane.rest()
    if ('result' in reply) return reply.result
    throw new AppError(reply.kind, reply.message, reply.extra, { cause: new Error(reply.cause) })
  } catch (error) {
    if (!(error instanceof AppError) || limits.aborted) lane.end()
    throw error
  } finally {
    watch.stop()
  }
}

function ask<Name extends GitOperation>(
  worker: Worker,
  name: Name,
  args: Parameters<GitOperations[Name]>,
  limits: AbortSignal,
): Promise<GitReply<Awaited<ReturnType<GitOperations[Name]>>>> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(message))
    limits.addEventListener('abort', () => reject(tooMuch(limits.reason)), { once: true })
    worker.postMessage({ name, args })
  })
}

function watchMemory(maxGrowthBytes: number) {
  const growth = new AbortController()
  const limit = process.memoryUsage.rss() + maxGrowthBytes
  const timer = setInterval(() => {
    if (process.memoryUsage.rss() > limit) growth.abort(new Error('The repository takes too much memory'))
  }, LOOK_EVERY_MS)
  timer.unref()
  return { signal: growth.signal, stop: () => clearInterval(timer) }
}

function tooMuch(cause: unknown): AppError {
  return new AppError('internal', 'The repository takes too much to read', {}, { cause })
}
