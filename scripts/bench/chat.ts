import { startGateways } from './gateway.ts'
import { describeCost, race } from './race.ts'
import type { Measurement } from './report.ts'
import type { Workbench } from './workbench.ts'

const CONNECTIONS = 32

/** Compares a completion with key, plan, quota and usage row with a bare proxy to the same upstream. */
export async function measureChat(bench: Workbench): Promise<Measurement[]> {
  const { ours, bare } = (await startGateways(bench)).completion()
  const result = await race(ours, bare, CONNECTIONS)
  return [
    {
      name: 'chat',
      ours: result.ours.requestsPerSecond,
      bare: result.bare.requestsPerSecond,
      unit: 'requests/s',
      value: result.ratio,
      bound: 'at least',
      layer: 0.45,
      aim: 0.6,
      notes: [describeCost(result)],
    },
  ]
}
