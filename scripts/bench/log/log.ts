import { join } from 'node:path'
import { z } from 'zod'
import { openPostgres, POSTGRES_PROGRAMS } from '../../../tests/harness/services/postgres.ts'
import { runChild } from '../child.ts'
import type { Measurement } from '../report.ts'
import type { Workbench } from '../workbench.ts'

const Contest = z.object({ ours: z.number(), bare: z.number(), ratio: z.number() })
const Result = z.object({ together: Contest, alone: Contest, roundTripMs: z.number() })

/** `write` of a cluster's leader, with a synchronous standby of its log, against a single node on the same disk. */
export async function measureLog(bench: Workbench): Promise<Measurement[]> {
  if (POSTGRES_PROGRAMS === null) {
    console.error('  log is skipped: PostgreSQL is not installed')
    return []
  }
  await using postgres = await openPostgres({ isDurable: true })
  const logUrl = await postgres.createDatabase()
  await using _standby = await postgres.addStandby()
  const folder = await bench.makeFolder('log')
  const output = await runChild([process.execPath, join(import.meta.dir, 'turns.ts'), folder, logUrl])
  const { together, alone, roundTripMs } = Result.parse(JSON.parse(output))
  const notes = [`a plain INSERT into the log takes ${roundTripMs.toFixed(2)} ms`]
  return [
    {
      ...{ name: 'log, 32 in flight', ours: together.ours, bare: together.bare, unit: 'writes/s' },
      ...{ value: together.ratio, bound: 'at least', layer: 0.85, aim: null, notes },
    },
    {
      ...{ name: 'log, 1 in flight', ours: 1000 / alone.ours, bare: 1000 / alone.bare, unit: 'ms' },
      ...{ value: 1 / alone.ratio, bound: 'at most', layer: 2.5, aim: null, notes: [] },
    },
  ]
}
