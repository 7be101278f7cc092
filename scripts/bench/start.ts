import { median } from './median.ts'
import { type Measurement, toFigure } from './report.ts'
import { createUser, preparePlatform, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const STARTS = 7
const PAUSE_MS = 2

/** Measures the time from the start of the program until all three ports answer, with an existing database. */
export async function measureStart(bench: Workbench): Promise<Measurement[]> {
  const installation = await preparePlatform(bench)
  await createUser(bench, installation, 'solo')
  const seconds: number[] = []
  for (let start = 0; start < STARTS; start++) {
    const startedAt = performance.now()
    const stead = await startStead(bench, installation, PAUSE_MS)
    seconds.push((performance.now() - startedAt) / 1000)
    await stead.end()
  }
  const typical = median(seconds)
  return [
    {
      name: 'start',
      ours: typical,
      bare: null,
      unit: 's',
      value: typical,
      bound: 'at most',
      layer: 0.5,
      aim: null,
      notes: [`fastest ${toFigure(Math.min(...seconds))} s, slowest ${toFigure(Math.max(...seconds))} s`],
    },
  ]
}
