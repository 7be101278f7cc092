import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Catalogue } from './catalogue/catalogue.ts'

const HOUR_MS = 3_600_000

/** Keeps models and prices as the providers list them. */
export function catalogueJob(deps: { catalogue: Catalogue }): RepeatingJob {
  return { name: 'ai.catalogue', everyMs: HOUR_MS, run: (signal) => deps.catalogue.refresh(signal) }
}
