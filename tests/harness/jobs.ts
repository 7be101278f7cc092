import { jobKinds } from '../../src/server/jobs.ts'
import type { Platform } from '../../src/server/platform.ts'

/** Runs the job queue of a test platform: `await using _jobs = startJobs(platform)`. */
export function startJobs(platform: Platform): AsyncDisposable {
  platform.queue.start(jobKinds(platform))
  return { [Symbol.asyncDispose]: () => platform.queue.stop() }
}
