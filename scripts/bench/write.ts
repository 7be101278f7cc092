import { join } from 'node:path'
import { z } from 'zod'
import { runChild } from './child.ts'
import type { Measurement } from './report.ts'
import type { Workbench } from './workbench.ts'

const Result = z.object({ ours: z.number(), bare: z.number(), ratio: z.number() })

/** Compares `write` with 64 closures in flight with one commit per statement. */
export async function measureWrite(bench: Workbench): Promise<Measurement[]> {
  const folder = await bench.makeFolder('write')
  const output = await runChild([process.execPath, join(import.meta.dir, 'write-turns.ts'), folder])
  const { ours, bare, ratio } = Result.parse(JSON.parse(output))
  return [
    {
      name: 'write',
      ours,
      bare,
      unit: 'writes/s',
      value: ratio,
      bound: 'at least',
      layer: 5,
      aim: 20,
      notes: [`a write alone, with its fsync, takes ${Math.round(1_000_000 / bare)} µs on this disk`],
    },
  ]
}
