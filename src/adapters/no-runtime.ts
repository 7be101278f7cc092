import { AppError } from '../core/errors.ts'
import type { Runtime } from './runtime.ts'

/** Stands for a runtime that cannot be used here: every call that needs it fails with `reason`, the rest of Stead works. */
export function createNoRuntime(name: Runtime['name'], reason: string): Runtime {
  const refuse = async (): Promise<never> => {
    throw new AppError('internal', reason)
  }
  return {
    name,
    deploy: refuse,
    start: refuse,
    stop: refuse,
    restart: refuse,
    remove: refuse,
    inspect: refuse,
    stats: refuse,
    logs: refuse,
    list: refuse,
    isAvailable: async () => false,
    close: async () => {},
  }
}
