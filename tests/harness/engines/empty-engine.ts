import type { Runtime } from '../../../src/adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../src/adapters/runtimes/contract/runtimes.ts'

/** An engine of containers that answers and runs no agent. */
export function createEmptyEngine(): Runtime {
  return { ...createNoRuntime('docker', 'This engine runs nothing'), inspect: async () => null }
}
