import type { Runtime } from '../contract/runtime.ts'
import type { Runtimes } from '../contract/runtimes.ts'

/** Adds the runtime of agents on their owners' machines. It is never chosen for a new agent. */
export function withMachines(runtimes: Runtimes, machines: Runtime): Runtimes {
  return {
    ...runtimes,
    runtimeOf: (agent) => (agent.runtime === 'machine' ? machines : runtimes.runtimeOf(agent)),
  }
}
