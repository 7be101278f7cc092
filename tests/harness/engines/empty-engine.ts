import type { Runtime } from '../../../src/adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../src/adapters/runtimes/contract/runtimes.ts'

/** Creates a container runtime that is available and runs no agents. */
export function createEmptyEngine(): Runtime {
  return { ...createNoRuntime('docker', 'This engine runs nothing'), inspect: async () => null }
}
