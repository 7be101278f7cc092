import { type Load, sendLoad, type Target } from './load.ts'
import { median, takeTurns } from './median.ts'

/** Medians of both servers; `ratio` and `cpuRatio` are ours to bare, turn by turn. */
export type Race = { ours: Load; bare: Load; ratio: number; cpuRatio: number }

const TURNS = 4
const TURN_MS = 600
/** Just-in-time compilers take some ten thousand requests to settle, however long these take on a busy machine. */
const WARM_UP_REQUESTS = 10_000
const WARM_UP_TURN_MS = 1000

/** Loads two servers with their requests in turns, after warming both up. */
export async function race(ours: Target, bare: Target, connections: number, turns = TURNS): Promise<Race> {
  const loads: Record<'ours' | 'bare', Load[]> = { ours: [], bare: [] }
  for (const target of [ours, bare]) await warmUp(target, connections)
  const run = async (side: keyof typeof loads, target: Target) => {
    const load = await sendLoad(target, connections, TURN_MS)
    loads[side].push(load)
    return load.requestsPerSecond
  }
  const contest = await takeTurns(turns, { ours: () => run('ours', ours), bare: () => run('bare', bare) })
  const cpu = { ours: costs(loads.ours), bare: costs(loads.bare) }
  return {
    ours: { requestsPerSecond: contest.ours, cpuMicrosPerRequest: median(cpu.ours) },
    bare: { requestsPerSecond: contest.bare, cpuMicrosPerRequest: median(cpu.bare) },
    ratio: contest.ratio,
    cpuRatio: median(cpu.ours.map((micros, turn) => micros / (cpu.bare[turn] ?? Number.NaN))),
  }
}

async function warmUp(target: Target, connections: number): Promise<void> {
  let answers = 0
  while (answers < WARM_UP_REQUESTS) {
    const { requestsPerSecond } = await sendLoad(target, connections, WARM_UP_TURN_MS)
    answers += (requestsPerSecond * WARM_UP_TURN_MS) / 1000
  }
}

/** The first turn warms up and does not count. */
function costs(loads: readonly Load[]): number[] {
  return loads.slice(1).map((load) => load.cpuMicrosPerRequest)
}

/** Formats the CPU time per request of both servers, which a busy machine disturbs less than requests per second. */
export function describeCost({ ours, bare }: Race): string {
  const overhead = ours.cpuMicrosPerRequest - bare.cpuMicrosPerRequest
  const toMicros = (value: number) => `${Math.round(value)} µs`
  return `processor time a request: ours ${toMicros(ours.cpuMicrosPerRequest)}, bare ${toMicros(bare.cpuMicrosPerRequest)}, overhead ${toMicros(overhead)}`
}
