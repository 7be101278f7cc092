import { errorMessage } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

/** Work that repeats: `run` is called every `everyMs`, counted from the end of the last run, so runs never overlap. The first run of a rare job comes soon after the start. */
export type RepeatingJob = { name: string; everyMs: number; run(signal: AbortSignal): Promise<void> }

/** The latest first run: a server that restarts more often than a job's interval would never run it. */
const FIRST_RUN_MS = 10_000
/** Rare jobs begin one after another, not all in the same moment. */
const BETWEEN_FIRST_RUNS_MS = 200

/** Starts `repeating` and returns the function that stops it and waits for runs under way. A failed run is logged, the next one comes; one that the stop cut short is no failure. */
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
    await pause(waitMs, stopping)
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
