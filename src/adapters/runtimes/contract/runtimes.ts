import { AppError, type ErrorKind } from '../../../core/errors.ts'
import { createBroadcast } from './events.ts'
import { agentNotFound, type OwnRuntimeName, type Runtime, type RuntimeEvent, type RuntimeName } from './runtime.ts'

/** An event and the runtime that reported it. */
export type AgentRuntimeEvent = RuntimeEvent & { runtime: RuntimeName }

/** Returns the runtime named by an agent's row. */
type RuntimeOf = (agent: { runtime: RuntimeName | null }) => Runtime

/** All runtimes; an agent stays with the one of its first deployment. */
export type Runtimes = {
  /** For an agent that was never deployed (`runtime` is null) returns a runtime without agents. */
  runtimeOf: RuntimeOf
  /** Returns the runtime for a first deployment. */
  choose(): Promise<RuntimeName>
  /** Returns why a first deployment cannot run now, with the command that helps; null when it can. */
  whyNotNew(): Promise<string | null>
  /** Lists the runtimes that were opened so far. */
  listOpen(): Runtime[]
  /** Yields the events of all runtimes, also of those opened later, until `signal` aborts. */
  watch(signal: AbortSignal): AsyncIterable<AgentRuntimeEvent>
  /** Closes all runtimes like `Runtime.close`. */
  close(options?: { stopAgents?: boolean }): Promise<void>
}

type RuntimesDeps = {
  /** Opens each runtime at its first use. */
  openers: Readonly<Record<OwnRuntimeName, () => Runtime>>
  choose: () => Promise<RuntimeName>
  whyNotNew: () => Promise<string | null>
}

export function createRuntimes(deps: RuntimesDeps): Runtimes {
  const opened = new Map<RuntimeName, Runtime>()
  const events = createBroadcast<AgentRuntimeEvent>()
  const closing = new AbortController()

  const openRuntime = (name: RuntimeName): Runtime => {
    if (closing.signal.aborted) throw new AppError('unavailable', 'The agent runtimes are closed')
    if (name === 'machine') throw new AppError('unavailable', 'Machines are not reached from here')
    const runtime = deps.openers[name]()
    opened.set(name, runtime)
    // Ends when the runtime is closed, and cannot fail otherwise.
    void passOn(runtime, events.publish, closing.signal)
    return runtime
  }

  return {
    runtimeOf: ({ runtime }) => (runtime === null ? NOTHING_DEPLOYED : (opened.get(runtime) ?? openRuntime(runtime))),
    choose: deps.choose,
    whyNotNew: deps.whyNotNew,
    listOpen: () => [...opened.values()],
    watch: (signal) => events.listen(signal),
    async close(options) {
      closing.abort()
      events.end()
      await Promise.all([...opened.values()].map((runtime) => runtime.close(options)))
    },
  }
}

async function passOn(
  runtime: Runtime,
  publish: (event: AgentRuntimeEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const event of runtime.watch(signal)) publish({ ...event, runtime: runtime.name })
}

const refuse = async (): Promise<never> => {
  throw agentNotFound()
}

/** The runtime of agents that were never deployed: stopping is a no-op, other calls are `not_found`. */
const NOTHING_DEPLOYED: Runtime = {
  name: 'process',
  deploy: refuse,
  renew: refuse,
  start: refuse,
  stop: refuse,
  kill: refuse,
  restart: refuse,
  remove: async () => {},
  inspect: async () => null,
  stats: refuse,
  logs: refuse,
  followLogs: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
  watch: () => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }) }),
  list: async () => [],
  snapshot: refuse,
  restore: refuse,
  findImage: async () => null,
  pull: async () => {},
  egressGap: () => null,
  platformHost: async () => '127.0.0.1',
  isAvailable: async () => true,
  close: async () => {},
}

/** Creates runtimes for a standby instance: every call is AppError `unavailable` with `reason`. */
export function createNoRuntimes(choice: RuntimeName, reason: string): Runtimes {
  return {
    runtimeOf: ({ runtime }) => createNoRuntime(runtime ?? choice, reason, 'unavailable'),
    choose: async () => choice,
    whyNotNew: async () => reason,
    listOpen: () => [],
    watch: () => createBroadcast<AgentRuntimeEvent>().listen(AbortSignal.abort()),
    close: async () => {},
  }
}

/** Runs every agent in `runtime`, whatever its row says: for tests and tools with a single runtime. */
export function onlyRuntime(runtime: Runtime): Runtimes {
  return {
    runtimeOf: () => runtime,
    choose: async () => runtime.name,
    whyNotNew: async () => null,
    listOpen: () => [runtime],
    async *watch(signal) {
      for await (const event of runtime.watch(signal)) yield { ...event, runtime: runtime.name }
    },
    close: (options) => runtime.close(options),
  }
}

/** Creates a runtime that cannot be used here: calls that need it fail with `reason`. */
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
    egressGap: () => null,
    platformHost: async () => '127.0.0.1',
    isAvailable: async () => false,
    close: async () => {},
  }
}
