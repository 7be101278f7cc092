import { availableParallelism } from 'node:os'
import { startWorker } from '../../core/concurrency/start-worker.ts'
import type { PageResult, PageSource } from './worker.ts'

export type ReadPage = Exclude<PageResult, { error: string }>

/** Reads pages in workers: one page a worker at a time, the others wait. */
export type PageReader = {
  /**
   * Takes `source.bytes` away from the caller.
   * @throws Error when the page cannot be read or takes too long, or the signal's reason.
   */
  read(source: PageSource, signal: AbortSignal): Promise<ReadPage>
  close(): void
}

const MAX_WORKERS = Math.max(1, Math.min(2, availableParallelism() - 1))
/** Real pages take a fraction of a second; more is a page made to hurt. */
const READ_MS = 4000
/** The memory of workers without work is worth more than the moment it takes to start one. */
const IDLE_MS = 60_000
/** The executable carries the worker under its path from `src`; `scripts/build.ts` names it. */
const WORKER = Bun.isStandaloneExecutable ? './adapters/pages/worker.ts' : new URL('./worker.ts', import.meta.url).href

/** Nothing runs before the first page. A worker whose page takes more than `readMs` is ended and replaced. */
export function createPageReader({ readMs = READ_MS, idleMs = IDLE_MS } = {}): PageReader {
  const rested: { worker: Worker; timer: Timer }[] = []
  const turns = createTurns(MAX_WORKERS)

  const wake = (): Worker | undefined => {
    const last = rested.pop()
    clearTimeout(last?.timer)
    return last?.worker
  }
  const rest = (worker: Worker) => {
    const timer = setTimeout(() => {
      const index = rested.findIndex((entry) => entry.worker === worker)
      rested.splice(index, 1)
      worker.terminate()
    }, idleMs)
    timer.unref()
    rested.push({ worker, timer })
  }

  return {
    async read(source, signal) {
      await turns.take(signal)
      let worker: Worker | undefined
      try {
        worker = wake() ?? startWorker(WORKER)
        const result = await ask(worker, source, AbortSignal.any([signal, AbortSignal.timeout(readMs)]))
        rest(worker)
        if ('error' in result) throw new Error(result.error)
        return result
      } catch (error) {
        if (!rested.some((entry) => entry.worker === worker)) worker?.terminate()
        throw error
      } finally {
        turns.giveBack()
      }
    },
    close() {
      for (let worker = wake(); worker; worker = wake()) worker.terminate()
    },
  }
}

function ask(worker: Worker, source: PageSource, signal: AbortSignal): Promise<PageResult> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PageResult>) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(message))
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    worker.postMessage(source, [source.bytes.buffer])
  })
}

type Turns = { take(signal: AbortSignal): Promise<void>; giveBack(): void }

/** At most `count` at a time, first come, first served. */
function createTurns(count: number): Turns {
  const waiting = new Set<() => void>()
  let free = count
  return {
    take(signal) {
      signal.throwIfAborted()
      if (free > 0) {
        free--
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        waiting.add(resolve)
        const abort = () => {
          if (waiting.delete(resolve)) reject(signal.reason)
        }
        signal.addEventListener('abort', abort, { once: true })
      })
    },
    giveBack() {
      const [next] = waiting
      if (!next) {
        free++
        return
      }
      waiting.delete(next)
      next()
    },
  }
}
