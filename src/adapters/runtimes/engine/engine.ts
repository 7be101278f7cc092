import type Docker from 'dockerode'
import { TaskQueue } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import { agentNotFound, engineUnavailable, imageNotFound, portTaken } from '../contract/runtime.ts'

const PING_CACHE_MS = 5000
/** Interface 4.9 gives a route 5 s; a query leaves it time to answer. */
const PATIENCE = { pingMs: 1000, queryMs: 4000, changeMs: 180_000 }
const HEARTBEAT_MS = 2000

/** Something to be done with the engine. `signal` ends the calls that take it when the time is over. */
export type EngineWork<T> = (docker: Docker, signal: AbortSignal) => Promise<T>

/** The labels of everything that an installation has in an engine. Without the first two nothing is ever touched. */
export const LABELS = {
  instance: 'stead.instance',
  agent: 'stead.agent',
  kind: 'stead.kind',
  version: 'stead.version',
  image: 'stead.image',
  port: 'stead.port',
  digest: 'stead.digest',
  /** Of a volume that holds an agent's secrets, and nothing that it has stored. */
  secrets: 'stead.secrets',
  /** Of a container that serves the files of the agent that it names, and is not that agent. */
  files: 'stead.files',
} as const

/**
 * A container engine that speaks Docker's API. What it answers with an error status is thrown as dockerode has it: see
 * `toAppError` and `hasStatus`. What it does not answer at all is AppError `internal` {code: 'ENGINE_UNAVAILABLE'}.
 */
export type Engine = {
  /** For calls that only look: all of `work` has 4 s. */
  ask<T>(work: EngineWork<T>): Promise<T>
  /** For calls that change something: they may take minutes, but only while the engine answers. */
  change<T>(work: EngineWork<T>): Promise<T>
  /** For streams: `signal` is the caller's, and nothing but the caller ends them. */
  stream<T>(work: EngineWork<T>, signal: AbortSignal): Promise<T>
  /** Is it reached by a socket of this machine? */
  readonly isLocal: boolean
  /** Images are fetched one after another. */
  readonly pulls: TaskQueue
  /** Within a second; kept for `maxAgeMs`. Never throws. */
  isAnswering(maxAgeMs?: number): Promise<boolean>
}

/**
 * `dockerHost` as the Docker CLI reads `DOCKER_HOST`. Nothing is sent before the first call. `patience` is how long the
 * engine may take, other than said above.
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

/** Loads dockerode at the first call: that takes a sixth of the time of a start, and many a house has no engine. */
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

/** Is the engine there? The answer is kept for 5 s: health checks come often, and a hanging engine must not hold them up. */
export function createDockerPing(dockerHost: string): () => Promise<boolean> {
  const engine = createEngine(dockerHost)
  return () => engine.isAnswering(PING_CACHE_MS)
}

/** Did the engine answer with one of these statuses? */
export function hasStatus(error: unknown, ...statuses: number[]): boolean {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' && statuses.includes(status)
}

/** What the engine's refusal means for an agent that wants `port` and `image`. The engine's own words are the cause. */
export function toEngineError(error: unknown, wanted: { port?: number; image?: string } = {}): AppError {
  if (error instanceof AppError) return error
  const text = error instanceof Error ? error.message : String(error)
  if (/port is already allocated|address already in use/i.test(text)) return portTaken(wanted.port ?? 0)
  if (hasStatus(error, 404) && /image/i.test(text)) return imageNotFound(wanted.image ?? '')
  if (hasStatus(error, 404)) return agentNotFound()
  return new AppError('internal', 'The container engine refused', {}, { cause: error })
}

/** Null for what the engine does not know. */
export async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (hasStatus(error, 404)) return null
    throw error
  }
}

/** Ends `work` after `timeoutMs`, also where it does not listen to its signal. */
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

/** Gives up on a long call when the engine stops answering short ones: twice in a row, because one can be bad luck. */
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

/** What the socket says, or its end, and no answer. */
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
