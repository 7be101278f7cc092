import type Docker from 'dockerode'
import { TaskQueue } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import { agentNotFound, engineUnavailable, imageNotFound, portTaken } from '../contract/runtime.ts'

const PING_CACHE_MS = 5000
/** Limits of a ping, a query and a change. A query must leave its route time to respond within 5 s. */
const PATIENCE = { pingMs: 1000, queryMs: 4000, changeMs: 180_000 }
const HEARTBEAT_MS = 2000

/** A call to the engine; `signal` aborts it at its time limit. */
export type EngineWork<T> = (docker: Docker, signal: AbortSignal) => Promise<T>

/** Labels of all objects of an installation in an engine. Objects without the first two are never touched. */
export const LABELS = {
  instance: 'stead.instance',
  agent: 'stead.agent',
  kind: 'stead.kind',
  version: 'stead.version',
  image: 'stead.image',
  port: 'stead.port',
  digest: 'stead.digest',
  /** Marks a volume with secrets instead of state. */
  secrets: 'stead.secrets',
  /** Marks a helper container that serves the files of an agent. */
  files: 'stead.files',
} as const

/**
 * A container engine with Docker's API. Error responses are thrown as dockerode's errors, see `toEngineError` and
 * `hasStatus`; no response is AppError `internal` {code: 'ENGINE_UNAVAILABLE'}.
 */
export type Engine = {
  /** Runs read-only calls, which together have 4 s. */
  ask<T>(work: EngineWork<T>): Promise<T>
  /** Runs changes, which may take minutes while the engine responds to pings. */
  change<T>(work: EngineWork<T>): Promise<T>
  /** Opens a stream, which only the caller's `signal` ends. */
  stream<T>(work: EngineWork<T>, signal: AbortSignal): Promise<T>
  /** True when the engine is reached by a local socket. */
  readonly isLocal: boolean
  /** Serializes pulls. */
  readonly pulls: TaskQueue
  /** Returns within a second whether the engine responds; cached for `maxAgeMs`. Never throws. */
  isAnswering(maxAgeMs?: number): Promise<boolean>
}

/**
 * Creates a client for `dockerHost`, in the format of `DOCKER_HOST`. Connects at the first call. `patience` overrides
 * the limits.
 */
export function createEngine(dockerHost: string, patience: Partial<typeof PATIENCE> = {}): Engine {
  const { pingMs, queryMs, changeMs } = { ...PATIENCE, ...patience }
  const connect = toConnector(toConnection(dockerHost), pingMs)
  const ping = async () => {
    const { pinging } = await connect()
    return within(pingMs, () => pinging.ping()).then(() => true)
  }
  let asked: { atMs: number; answer: Promise<boolean> } | null = null

  return {
    async ask(work) {
      const { docker } = await connect()
      return within(queryMs, (signal) => work(docker, signal))
    },
    async change(work) {
      const { docker } = await connect()
      return within(changeMs, (signal) => untilSilent(() => ping().catch(() => false), work(docker, signal), signal))
    },
    async stream(work, signal) {
      const { docker } = await connect()
      return work(docker, signal).catch(rethrow)
    },
    isLocal: isSocket(dockerHost),
    pulls: new TaskQueue(),
    isAnswering(maxAgeMs = 0) {
      if (!asked || performance.now() - asked.atMs > maxAgeMs) {
        asked = { atMs: performance.now(), answer: ping().catch(() => false) }
      }
      return asked.answer
    },
  }
}

/**
 * Loads dockerode at the first call, because that takes a sixth of the start-up time and many installations have no
 * engine.
 */
function toConnector(connection: Docker.DockerOptions, pingMs: number) {
  let opened: Promise<{ docker: Docker; pinging: Docker }> | undefined
  const openEngine = async () => {
    const { default: Client } = await import('dockerode')
    return { docker: new Client(connection), pinging: new Client({ ...connection, timeout: pingMs }) }
  }
  return () => {
    opened ??= openEngine()
    return opened
  }
}

/**
 * Creates a check whether the engine responds, cached for 5 s, so that health checks do not wait for a hanging
 * engine.
 */
export function createDockerPing(dockerHost: string): () => Promise<boolean> {
  const engine = createEngine(dockerHost)
  return () => engine.isAnswering(PING_CACHE_MS)
}

/** Returns whether the engine responded with one of these statuses. */
export function hasStatus(error: unknown, ...statuses: number[]): boolean {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' && statuses.includes(status)
}

/** Converts an engine's error for an agent that wants `port` and `image`; the original error is the cause. */
export function toEngineError(error: unknown, wanted: { port?: number; image?: string } = {}): AppError {
  if (error instanceof AppError) return error
  const text = error instanceof Error ? error.message : String(error)
  if (/port is already allocated|address already in use/i.test(text)) return portTaken(wanted.port ?? 0)
  if (hasStatus(error, 404) && /image/i.test(text)) return imageNotFound(wanted.image ?? '')
  if (hasStatus(error, 404)) return agentNotFound()
  return new AppError('internal', 'The container engine refused', {}, { cause: error })
}

/** Returns null for 404. */
export async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (hasStatus(error, 404)) return null
    throw error
  }
}

/** Ends `work` after `timeoutMs`, even if it ignores its signal. */
async function within<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timeout = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(engineUnavailable()), timeoutMs)
  try {
    return await Promise.race([work(timeout.signal), late])
  } catch (error) {
    return rethrow(error)
  } finally {
    clearTimeout(timer)
    timeout.abort()
  }
}

/** Aborts a long call when the engine misses two pings in a row. */
async function untilSilent<T>(ping: () => Promise<boolean>, work: Promise<T>, signal: AbortSignal): Promise<T> {
  let isOver = false
  const { promise: silent, reject } = Promise.withResolvers<never>()
  const beat = async () => {
    for (let silences = 0; !isOver && !signal.aborted; ) {
      await Bun.sleep(HEARTBEAT_MS)
      silences = isOver || (await ping()) ? 0 : silences + 1
      if (silences === 2) reject(engineUnavailable())
    }
  }
  void beat()
  try {
    return await Promise.race([work, silent])
  } finally {
    isOver = true
  }
}

/** Throws an error response as it is, and a socket error as `engineUnavailable`. */
function rethrow(error: unknown): never {
  const isAnswer = !(error instanceof Error) || 'statusCode' in error
  const isOfSocket = !isAnswer && ('code' in error || error.name === 'AbortError')
  throw isOfSocket ? engineUnavailable(error) : error
}

function toConnection(dockerHost: string): Docker.DockerOptions {
  if (isSocket(dockerHost)) return { socketPath: dockerHost.replace(/^unix:\/\//, '') }
  const { hostname, port } = new URL(dockerHost.replace(/^tcp:/, 'http:'))
  return { host: hostname, port: port || '2375', protocol: dockerHost.startsWith('https:') ? 'https' : 'http' }
}

function isSocket(dockerHost: string): boolean {
  return !/^(tcp|https?):\/\//.test(dockerHost)
}
