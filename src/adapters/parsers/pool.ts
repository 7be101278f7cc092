import { createSemaphore } from '../../core/concurrency/keyed-queue.ts'
import { type ParserJob, type ParserKind, type ParserProcess, startParser } from './process.ts'

type ParserLimits = {
  /** Maximum number of processes, including killed ones that have not exited. */
  maxProcesses: number
  /** Jobs that wait for a process; more are refused. */
  maxWaiting: number
  maxMemoryBytes: number
  /** Time after which an idle process is stopped. */
  idleMs: number
}

/** A pool of child processes that parse untrusted content. */
type ParserPool = {
  /**
   * Runs a job in a process of its own.
   * @throws AppError as the parser does, `unavailable` when too many jobs wait, ParserLimitError, or the signal's reason.
   */
  run<T>(job: ParserJob<T>): Promise<T>
  /** Returns the process ids of all running processes. */
  pids(): number[]
  close(): void
}

/** A process above this share of its memory limit is not reused. */
const MAX_RESTING_SHARE = 0.5

/** The first job starts a process, which is kept for the next job until `idleMs` passes without one. */
export function createParserPool(kind: ParserKind, limits: ParserLimits): ParserPool {
  const permits = createSemaphore(limits.maxProcesses, limits.maxWaiting)
  const living = new Set<ParserProcess>()
  const resting: { process: ParserProcess; timer: Timer }[] = []

  const wake = (): ParserProcess | null => {
    for (let last = resting.pop(); last; last = resting.pop()) {
      clearTimeout(last.timer)
      if (last.process.isAlive()) return last.process
    }
    return null
  }
  const start = async (): Promise<ParserProcess> => {
    while (living.size >= limits.maxProcesses) await Promise.race([...living].map(({ exited }) => exited))
    const process = startParser(kind, limits.maxMemoryBytes)
    living.add(process)
    void process.exited.then(() => living.delete(process))
    return process
  }
  const rest = (process: ParserProcess) => {
    const timer = setTimeout(() => {
      resting.splice(
        resting.findIndex((entry) => entry.process === process),
        1,
      )
      process.kill()
    }, limits.idleMs)
    timer.unref()
    resting.push({ process, timer })
  }
  /** The permit is released when the process is idle or has ended. */
  const giveBack = async (process: ParserProcess) => {
    const isKept = process.isAlive() && (await process.residentBytes()) <= limits.maxMemoryBytes * MAX_RESTING_SHARE
    if (isKept && process.isAlive()) rest(process)
    else {
      process.kill()
      await process.exited
    }
    permits.release()
  }

  return {
    async run(job) {
      await permits.acquire(job.signal)
      let process: ParserProcess
      try {
        process = wake() ?? (await start())
      } catch (error) {
        permits.release()
        throw error
      }
      try {
        return await process.run(job)
      } finally {
        void giveBack(process)
      }
    },
    pids: () => [...living].map(({ pid }) => pid),
    close() {
      for (const process of living) process.kill()
    },
  }
}
