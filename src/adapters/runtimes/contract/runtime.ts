import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { ImageReference } from '../../../core/text/image-reference.ts'
import type { ByteLink } from '../../files/channel.ts'
import type { FolderRoot } from '../../files/open.ts'

/** What every runtime accepts as an agent's id: also a folder name, a container name and a DNS label. */
const AgentId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'must be lower-case letters, digits and hyphens')

const VariableName = z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'must be an upper-case variable name')
// The operating system ends a variable at the first NUL, so the rest would be lost without a word.
const VariableValue = z.string().refine((value) => !value.includes('\0'), 'must not contain NUL')

// What a runtime itself tells an agent.
const RESERVED = new Set(['PATH', 'HOME', 'TMPDIR', 'LANG', 'PORT', 'HOST', 'NODE_ENV', 'AGENT_DIR', 'AGENT_CONFINED'])

/** Which program an agent is: ours, or the OpenClaw gateway. A container's image says it by its label. */
export const AGENT_KINDS = ['stead', 'openclaw'] as const
export type AgentKind = (typeof AGENT_KINDS)[number]

/** The ways to run agents. */
export const RUNTIMES = ['process', 'docker', 'swarm'] as const
export type RuntimeName = (typeof RUNTIMES)[number]

/**
 * What an agent is deployed from; two equal specs mean one deployment. `image` is null where agents are processes. `port`
 * is on 127.0.0.1 of the host (of its node in a swarm), `environment` holds plain settings, each of `secrets` becomes a
 * file that only the agent reads and finds by `<NAME>_FILE`.
 */
export const AgentSpec = z.object({
  id: AgentId,
  image: ImageReference.nullable(),
  port: z.number().int().min(1).max(65_535),
  environment: z.record(
    VariableName.refine((name) => !RESERVED.has(name), 'is set by the runtime'),
    VariableValue,
  ),
  secrets: z.record(VariableName, VariableValue),
  limits: z.object({
    memoryBytes: z.number().int().positive(),
    cpus: z.number().positive(),
    processes: z.number().int().positive(),
  }),
})
export type AgentSpec = z.infer<typeof AgentSpec>

/**
 * `running`: it has a live process, healthy or not. `restarting`: it died and comes back by itself. `stopped`: someone
 * stopped it. `exited`: it ended with 78 (bad configuration) and waits for a `deploy`, `start` or `restart`.
 */
export type AgentState = 'running' | 'restarting' | 'stopped' | 'exited'

/**
 * One agent as the runtime knows it. `host` and `port` are where the platform reaches it. `startedAt` is null without a
 * live process; `exitCode` is that of the last end, null while running or when nobody saw it; `isOutOfMemory` says that
 * its memory limit ended it; `restarts` counts the unasked ones since it was last deployed or started. `image` and
 * `version` (by the image's label) are null where agents are processes.
 */
export type Inspection = {
  id: string
  kind: AgentKind
  state: AgentState
  host: string
  port: number
  image: string | null
  version: string | null
  startedAt: Date | null
  exitCode: number | null
  isOutOfMemory: boolean
  restarts: number
}

/** A line an agent wrote. `cursor` names its place: following after it misses no line and repeats none. */
export type RuntimeLogLine = { cursor: string; at: Date; stream: 'stdout' | 'stderr'; text: string }

/** Something happened to an agent that nobody asked for here: look at it. `died` counts as a crash unless it was asked for. */
export type RuntimeEvent = { id: string; type: 'started' | 'died' | 'removed' | 'changed'; at: Date }

/** One step of fetching an image; bytes are null until the engine knows them. */
export type PullProgress = {
  status: string
  layer: string | null
  currentBytes: number | null
  totalBytes: number | null
}

/**
 * What a running agent uses. `cpuPercent` is of one core, since the previous call or the start. Null is what a runtime
 * cannot measure; it is never guessed.
 */
export type RuntimeStats = {
  cpuPercent: number
  memoryBytes: number
  memoryLimitBytes: number
  processes: number
  uptimeMs: number
  networkInBytes: number | null
  networkOutBytes: number | null
  diskReadBytes: number | null
  diskWriteBytes: number | null
}

/** A program at the other end that serves an agent's working tree (`workspace-server.ts`); `close` ends it. */
export type FilesLink = ByteLink & { close(): Promise<void> }

/** How this process gets at an agent's working tree: it opens the folder itself, or asks somebody who serves it. */
export type AgentFiles = { root: FolderRoot } | { connect(): Promise<FilesLink> }

/**
 * Runs agents. Calls for one agent happen one after another, in the order they were made. Besides the kinds named here
 * every call may throw AppError `internal` ({code: 'ENGINE_UNAVAILABLE'} when the engine does not answer, within 5 s and
 * with nothing known of the outcome) and `unavailable` (the runtime is closed).
 */
export type Runtime = {
  readonly name: RuntimeName
  /**
   * Makes the agent run as `spec` says: nothing happens when it does already, another spec replaces it. Resolves when the
   * agent has been started, which is before it is healthy.
   * @throws AppError `invalid` spec, `conflict` {code: 'PORT_TAKEN'}.
   */
  deploy(spec: AgentSpec): Promise<void>
  /** As `deploy`, except that an agent which is being restarted with this very spec is left to that. */
  renew(spec: AgentSpec): Promise<void>
  /**
   * Fine when it runs. With `repair` the agent's program mends its own state first, where it can.
   * @throws AppError `not_found`, `conflict` {code: 'PORT_TAKEN'}.
   */
  start(id: string, options?: { repair?: boolean }): Promise<void>
  /** Ends it, by force after 30 s, and keeps its data. Fine when it is stopped. @throws AppError `not_found`. */
  stop(id: string): Promise<void>
  /** Ends it by force at once; it stays down until it is started. Fine when it is stopped. @throws AppError `not_found`. */
  kill(id: string): Promise<void>
  /** Stop and start. @throws AppError `not_found`, `conflict` {code: 'PORT_TAKEN'}. */
  restart(id: string): Promise<void>
  /** Ends the agent and deletes all it has stored. Fine when there is none. */
  remove(id: string): Promise<void>
  /** Null when there is no such agent; never null because the engine did not answer. */
  inspect(id: string): Promise<Inspection | null>
  /** @throws AppError `not_found`, `conflict` {code: 'NOT_RUNNING'}. */
  stats(id: string): Promise<RuntimeStats>
  /** The last `tail` lines (at most `MAX_LOG_LINES`) of what it wrote, oldest first. @throws AppError `not_found`. */
  logs(id: string, options: { tail: number }): Promise<string[]>
  /** Its lines after `after` (from the oldest kept when null), then those to come, until it is removed or `signal` aborts. */
  followLogs(id: string, options: { after: string | null; signal: AbortSignal }): AsyncIterable<RuntimeLogLine>
  /** What happens to agents, until `signal` aborts. Survives an engine that goes away: a gap is told by `changed` for each agent. */
  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent>
  /** Every agent of this installation, by id. */
  list(): Promise<Inspection[]>
  /**
   * Writes all that a stopped agent has stored to `file`, a gzipped tar, mode 0600.
   * @throws AppError `not_found`, `conflict` {code: 'RUNNING'}.
   */
  snapshot(id: string, file: string): Promise<void>
  /** Puts back what `snapshot` wrote, and nothing else remains. @throws AppError `not_found`, `conflict` {code: 'RUNNING'}. */
  restore(id: string, file: string): Promise<void>
  /**
   * Where the files of an agent are, whether it runs or not. Left out where agents are processes, whose folders are known,
   * and where nobody can get at them.
   * @throws AppError `unavailable` {code: 'NOT_CONFIGURED'} or {code: 'ON_ANOTHER_NODE'} when this runtime cannot, and why.
   */
  openFiles?(id: string): Promise<AgentFiles>
  /**
   * Bytes of what each agent has stored, by its id, as far as this machine knows. Takes long: not for a request. Left out
   * where agents are processes, whose folders are known.
   */
  measureStored?(): Promise<ReadonlyMap<string, number>>
  /** The image of this name that is here, or null; never one where agents are processes. @throws AppError `invalid` when it is no agent. */
  findImage(image: string): Promise<{ kind: AgentKind; version: string | null } | null>
  /**
   * Makes sure that `image` is here, and fetches it when it is not, one after another and with an end to size and time.
   * Nothing to do where agents are processes.
   * @throws AppError `not_found` {code: 'IMAGE_NOT_FOUND'} when nobody has it, `invalid` when it is no agent or too large,
   * `unavailable` when it does not come in time.
   */
  pull(image: string, onProgress: (progress: PullProgress) => void, signal: AbortSignal): Promise<void>
  /** The address of this machine at which agents find the platform. */
  platformHost(): Promise<string>
  /** Can agents be deployed now? Never throws. */
  isAvailable(): Promise<boolean>
  /**
   * Stops looking after the agents and leaves them running. With `stopAgents` they end too, but stay wanted: the next
   * runtime starts them again. Every later call throws; closing twice is fine.
   */
  close(options?: { stopAgents?: boolean }): Promise<void>
}

/** More lines than this are never read for one `logs` call. */
export const MAX_LOG_LINES = 10_000

/** Exit code with which an agent says that its configuration is bad (`EX_CONFIG`): starting it again cannot help. */
export const BAD_CONFIGURATION_EXIT = 78

/** @throws AppError `invalid` naming the first bad field. */
export function requireSpec(spec: AgentSpec): AgentSpec {
  const parsed = AgentSpec.safeParse(spec)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new AppError('invalid', `Agent spec: ${issue?.path.join('.')} ${issue?.message}`)
}

/** The error of a host port that something else holds. */
export function portTaken(port: number): AppError {
  return new AppError('conflict', `Port ${port} is already in use`, { code: 'PORT_TAKEN' })
}

/** The error of an id no agent has. */
export function agentNotFound(): AppError {
  return new AppError('not_found', 'Agent not found')
}

/** The error of asking for what only a stopped agent allows. */
export function agentRunning(): AppError {
  return new AppError('conflict', 'Agent is running', { code: 'RUNNING' })
}

/** The error of an image that is neither here nor to be had. */
export function imageNotFound(image: string): AppError {
  return new AppError('not_found', `Image ${image} was not found`, { code: 'IMAGE_NOT_FOUND' })
}

/** The error of an engine that does not answer. Interface 4.9: what depends on containers is then a 500. */
export function runtimeClosed(): AppError {
  return new AppError('unavailable', 'The agent runtime is closed')
}

export function engineUnavailable(cause?: unknown): AppError {
  return new AppError('internal', 'The container engine does not answer', { code: 'ENGINE_UNAVAILABLE' }, { cause })
}

/** Is nothing known, because the engine did not answer? Then no status may change. */
export function isEngineUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.extra.code === 'ENGINE_UNAVAILABLE'
}

/** The error of asking a stopped agent for what only a running one has. */
export function agentNotRunning(): AppError {
  return new AppError('conflict', 'Agent is not running', { code: 'NOT_RUNNING' })
}
