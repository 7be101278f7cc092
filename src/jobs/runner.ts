import { errorMessage } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

/** Work that repeats: `run` is called every `everyMs`, counted from the end of the last run, so runs never overlap. */
export type RepeatingJob = { name: string; everyMs: number; run(signal: AbortSignal): Promise<void> }

/** Starts `repeating` and returns the function that stops it and waits for runs under way. A failed run is logged, the next one comes; one that the stop cut short is no failure. */
export function startRunner(repeating: RepeatingJob[], log: Log): () => Promise<void> {
  const stopping = new AbortController()
  const loops = repeating.map((job) => loop(job, log, stopping.signal))
  return async () => {
    stopping.abort()
    await Promise.all(loops)
  }
}

async function loop(job: RepeatingJob, log: Log, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    await pause(job.everyMs, stopping)
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
