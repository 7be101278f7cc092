import { AppError, type ErrorKind } from '../../../core/errors.ts'
import type { Runtime } from './runtime.ts'

/** Stands for a runtime that cannot be used here: every call that needs it fails with `reason`, the rest of Stead works. */
export function createNoRuntime(name: Runtime['name'], reason: string, kind: ErrorKind = 'internal'): Runtime {
  const refuse = async (): Promise<never> => {
    throw new AppError(kind, reason)
  }
  const refuseAll = (): AsyncIterable<never> => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) })
  return {
    name,
    deploy: refuse,
    renew: refuse,
    start: refuse,
    stop: refuse,
    kill: refuse,
    restart: refuse,
    remove: refuse,
    inspect: refuse,
    stats: refuse,
    logs: refuse,
    followLogs: refuseAll,
    watch: refuseAll,
    list: refuse,
    snapshot: refuse,
    restore: refuse,
    findImage: refuse,
    pull: refuse,
    platformHost: async () => '127.0.0.1',
    isAvailable: async () => false,
    close: async () => {},
  }
}
