import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type SampleDeps, sampleAgents } from './sample.ts'

const SAMPLE_MS = 60_000

export function sampleJob(deps: SampleDeps): RepeatingJob {
  return { name: 'metrics.sample', everyMs: SAMPLE_MS, run: (signal) => sampleAgents(deps, signal) }
}
