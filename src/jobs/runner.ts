import { toWholeSecond } from '../core/concurrency/timing.ts'
import { errorMessage } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

/** A repeating job: `run` is called about `everyMs` after the previous run ended, so runs never overlap. */
export type RepeatingJob = { name: string; everyMs: number; run(signal: AbortSignal): Promise<void> }

/** The latest first run, so a server that restarts often still runs rare jobs. */
const FIRST_RUN_MS = 10_000
/** Staggers the first runs. */
const BETWEEN_FIRST_RUNS_MS = 200

/**
 * Starts the repeating jobs. Failures are logged unless the shutdown caused them.
 * @returns a function that stops them and waits for current runs.
 */
export function startRunner(repeating: RepeatingJob[], log: Log, firstRunMs = FIRST_RUN_MS): () => Promise<void> {
  const stopping = new AbortController()
  const loops = repeating.map((job, index) =>
    loop(job, log, {
      firstMs: Math.min(job.everyMs, firstRunMs + index * BETWEEN_FIRST_RUNS_MS),
      stopping: stopping.signal,
    }),
  )
  return async () => {
    stopping.abort()
    await Promise.all(loops)
  }
}

type LoopOptions = { firstMs: number; stopping: AbortSignal }

async function loop(job: RepeatingJob, log: Log, { firstMs, stopping }: LoopOptions): Promise<void> {
  for (let waitMs = firstMs; ; waitMs = job.everyMs) {
    await pause(toWholeSecond(waitMs), stopping)
    if (stopping.aborted) return
    await job.run(stopping).catch((error) => {
      if (!stopping.aborted) log.error({ job: job.name, error: errorMessage(error) }, 'repeating job failed')
    })
  }
}

/** Resolves after `ms`, or at once when `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish)
    if (signal.aborted) finish()
  })
}
