import { join } from 'node:path'
import { startBareServer } from './child.ts'
import { sendLoad, type Target } from './load.ts'
import { takeTurns } from './median.ts'
import type { Measurement } from './report.ts'
import { preparePlatform, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

/** An article of a news site, 181 KB. */
const PAGE = join(import.meta.dir, '../../tests/fixtures/pages/wordpress.html.gz')
const WARM_UP_MS = 4000
const TURNS = 10
const TURN_MS = 600

/** Compares `POST /api/summarize` of a local page with only fetching and parsing it with linkedom. */
export async function measureSummarize(bench: Workbench): Promise<Measurement[]> {
  const site = await startBareServer(bench, 'page-site.ts', [PAGE])
  const installation = await preparePlatform(bench, { SUMMARIZER_ALLOW_PRIVATE: 'true' })
  const stead = await startStead(bench, installation)
  const bare = await startBareServer(bench, 'summary.ts', [site.url])
  const request = {
    method: 'POST',
    path: '/api/summarize',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: site.url }),
  }
  // One connection measures the response time without a queue.
  const toMs = async (target: Target, durationMs: number) =>
    1000 / (await sendLoad(target, 1, durationMs)).requestsPerSecond
  const targets = { ours: { ...request, url: stead.summarizer, pid: stead.pid }, bare: { ...request, ...bare } }
  for (const target of Object.values(targets)) await toMs(target, WARM_UP_MS)
  const {
    ours,
    bare: baseline,
    ratio,
  } = await takeTurns(TURNS, {
    ours: () => toMs(targets.ours, TURN_MS),
    bare: () => toMs(targets.bare, TURN_MS),
  })
  return [
    {
      name: 'summarize',
      ours,
      bare: baseline,
      unit: 'ms',
      value: ratio,
      bound: 'at most',
      layer: 1.5,
      aim: null,
      notes: ['a page of 181 KB on the same machine, one at a time'],
    },
  ]
}
