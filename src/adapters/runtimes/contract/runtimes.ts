import { AppError, type ErrorKind } from '../../../core/errors.ts'
import { createBroadcast } from './events.ts'
import { agentNotFound, type Runtime, type RuntimeEvent, type RuntimeName } from './runtime.ts'

/** An event of one of several runtimes, and of which. */
export type AgentRuntimeEvent = RuntimeEvent & { runtime: RuntimeName }

/** What runs one agent: each is named by its row. */
type RuntimeOf = (agent: { runtime: RuntimeName | null }) => Runtime

/** Several runtimes at once: an agent keeps to the one that it was made with (decisions, 41). */
export type Runtimes = {
  /** For an agent that was never deployed (`runtime` is null) this is a runtime that knows no agent. */
  runtimeOf: RuntimeOf
  /** What an agent gets that is deployed for the first time now. */
  choose(): Promise<RuntimeName>
  /** Returns why an agent that is deployed for the first time cannot run now, with the command that helps; null when it can. */
  whyNotNew(): Promise<string | null>
  /** Those that have been asked for so far. */
  listOpen(): Runtime[]
  /** What happens to agents of all of them, those that are opened later included, until `signal` aborts. */
  watch(signal: AbortSignal): AsyncIterable<AgentRuntimeEvent>
  /** As `Runtime.close`, for all. */
  close(options?: { stopAgents?: boolean }): Promise<void>
}

type RuntimesDeps = {
  /** Makes each of them, once, when it is first asked for. */
  openers: Readonly<Record<RuntimeName, () => Runtime>>
  choose: () => Promise<RuntimeName>
  whyNotNew: () => Promise<string | null>
}

export function createRuntimes(deps: RuntimesDeps): Runtimes {
  const opened = new Map<RuntimeName, Runtime>()
  const events = createBroadcast<AgentRuntimeEvent>()
  const closing = new AbortController()

  const openRuntime = (name: RuntimeName): Runtime => {
    if (closing.signal.aborted) throw new AppError('unavailable', 'The agent runtimes are closed')
    const runtime = deps.openers[name]()
    opened.set(name, runtime)
    // It ends when the runtime is closed, which is the only way it can.
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

/** Where an agent runs that was never deployed: nowhere. To end it is fine, to ask anything of it is `not_found`. */
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
  platformHost: async () => '127.0.0.1',
  isAvailable: async () => true,
  close: async () => {},
}

/** No agent may be touched: whatever is asked of one is AppError `unavailable` with `reason`. */
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

/** Every agent runs in `runtime`, whatever its row says: for tests and tools that have only one. */
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
