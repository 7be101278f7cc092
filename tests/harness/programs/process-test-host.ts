import { z } from 'zod'
import { AgentSpec } from '../../../src/adapters/runtimes/contract/runtime.ts'
import { createProcessRuntime } from '../../../src/adapters/runtimes/process/process.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { createLog } from '../../../src/core/log.ts'

const Order = z.object({
  dir: z.string(),
  command: z.tuple([z.string()], z.string()),
  specs: z.array(AgentSpec),
  afterwards: z.enum(['wait', 'disturb', 'close']),
})
export type HostOrder = z.infer<typeof Order>

/**
 * Deploys the agents of its order (JSON in the first argument) and prints `ready`. Then it waits until it is killed,
 * deploys, stops, restarts and removes them at random, or closes its runtime and exits.
 */
async function main(): Promise<void> {
  const { dir, command, specs, afterwards } = Order.parse(JSON.parse(process.argv[2] ?? ''))
  const runtime = await createProcessRuntime({
    dir,
    command,
    path: '/usr/bin:/bin',
    lang: 'C.UTF-8',
    clock: systemClock,
    log: createLog('silent'),
    timing: { backoffMs: () => 20, stopMs: 2000 },
  })
  if (afterwards !== 'disturb') await Promise.all(specs.map((spec) => runtime.deploy(spec)))
  process.stdout.write('ready\n')
  if (afterwards === 'close') return runtime.close()
  // A timer replaces the platform's servers; agents must not keep the process running.
  setInterval(() => undefined, 60_000)
  if (afterwards === 'disturb') await Promise.all(specs.map((spec) => disturb(spec)))

  async function disturb(spec: AgentSpec): Promise<void> {
    for (let round = 0; ; round += 1) {
      await runtime.deploy({ ...spec, environment: { ROUND: `${process.pid}-${round}` } })
      const dice = Math.random()
      if (dice < 0.2) await runtime.stop(spec.id)
      else if (dice < 0.4) await runtime.restart(spec.id)
      else if (dice < 0.6) await runtime.remove(spec.id)
    }
  }
}

await main()
