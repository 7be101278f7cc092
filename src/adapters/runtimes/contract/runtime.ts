import { z } from 'zod'
import type { Isolation } from '../../../core/agents/isolation.ts'
import { AppError } from '../../../core/errors.ts'
import { ImageReference } from '../../../core/text/names.ts'
import type { ByteLink } from '../../files/channel.ts'
import type { FolderRoot } from '../../files/open.ts'

/** An agent's id in every runtime: a folder name, a container name and a DNS label. */
const AgentId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'must be lower-case letters, digits and hyphens')

const VariableName = z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'must be an upper-case variable name')
// A variable ends at the first NUL.
const VariableValue = z.string().refine((value) => !value.includes('\0'), 'must not contain NUL')

// Variables that the runtime itself sets.
const RESERVED = new Set([
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'PORT',
  'HOST',
  'NODE_ENV',
  'AGENT_DIR',
  'AGENT_CONFINED',
  'AGENT_SOCKETS',
])

/** The program of an agent, as its image's label says. */
export const AGENT_KINDS = ['stead', 'openclaw'] as const
export type AgentKind = (typeof AGENT_KINDS)[number]

/** Names of the runtimes; `machine` is an agent that runs on its owner's machine and is reached through a tunnel. */
export const RUNTIMES = ['process', 'docker', 'swarm', 'machine'] as const
export type RuntimeName = (typeof RUNTIMES)[number]
/** The runtimes in which the platform starts agents. */
export type OwnRuntimeName = Exclude<RuntimeName, 'machine'>

/**
 * The input of a deployment; equal specs are the same deployment. `image` is null for process agents. `port` is on
 * 127.0.0.1 of the host (of its node in a swarm). Each of `secrets` becomes a file that only the agent reads, with its
 * path in `<NAME>_FILE`.
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
 * `running`: has a live process, healthy or not. `restarting`: died and is restarted by the runtime. `stopped`: was
 * stopped. `exited`: ended with 78 (bad configuration) and waits for a `deploy`, `start` or `restart`.
 */
export type AgentState = 'running' | 'restarting' | 'stopped' | 'exited'

/**
 * An agent as seen by the runtime. `host` and `port` are its address for the platform. `startedAt` is null without a
 * live process; `exitCode` is that of the last end, null while running or when unknown; `restarts` counts restarts by
 * the runtime since the last deployment or start. `image` and `version` are null for process agents. `isolation` is
 * missing for containers.
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
  isolation?: Isolation
}

/** A line of output. Following after its `cursor` misses no line and repeats none. */
export type RuntimeLogLine = { cursor: string; at: Date; stream: 'stdout' | 'stderr'; text: string }

/** An event of an agent that this platform did not cause; `died` counts as a crash. */
export type RuntimeEvent = { id: string; type: 'started' | 'died' | 'removed' | 'changed'; at: Date }

/** Progress of a pull; bytes are null until the engine knows them. */
export type PullProgress = {
  status: string
  layer: string | null
  currentBytes: number | null
  totalBytes: number | null
}

/**
 * Resource use of a running agent. `cpuPercent` is a percentage of one core since the previous call or the start. Null:
 * the runtime cannot measure it.
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

/** A connection to a program that serves an agent's working tree (`workspace-server.ts`). */
export type FilesLink = ByteLink & { close(): Promise<void> }

/** Access to an agent's working tree: a folder to open, or a server to connect to. */
export type AgentFiles = { root: FolderRoot } | { connect(): Promise<FilesLink> }

/**
 * Runs agents. Calls for one agent execute in order. Besides the errors named here every call may throw AppError
 * `internal` {code: 'ENGINE_UNAVAILABLE'} when the engine does not respond within 5 s, with an unknown outcome, and
 * `unavailable` after `close`.
 */
export type Runtime = {
  readonly name: RuntimeName
  /**
   * Deploys the agent. Does nothing when it runs with this spec; another spec replaces it. Resolves when the agent has
   * started, which is before it is healthy.
   * @throws AppError `invalid` spec, `conflict` {code: 'PORT_TAKEN'}.
   */
  deploy(spec: AgentSpec): Promise<void>
  /** Deploys like `deploy`, but leaves an agent alone that is being restarted with this spec. */
  renew(spec: AgentSpec): Promise<void>
  /**
   * Starts the agent unless it runs. With `repair` its program repairs its own state first, if it can.
   * @throws AppError `not_found`, `conflict` {code: 'PORT_TAKEN'}.
   */
  start(id: string, options?: { repair?: boolean }): Promise<void>
  /** Stops the agent unless it is stopped, by force after 30 s, and keeps its data. @throws AppError `not_found`. */
  stop(id: string): Promise<void>
  /** Stops the agent by force at once; it stays down until started. @throws AppError `not_found`. */
  kill(id: string): Promise<void>
  /** Stops and starts the agent. @throws AppError `not_found`, `conflict` {code: 'PORT_TAKEN'}. */
  restart(id: string): Promise<void>
  /** Stops the agent and deletes its data, if it exists. */
  remove(id: string): Promise<void>
  /** Returns null for an unknown agent, never for an engine that does not respond. */
  inspect(id: string): Promise<Inspection | null>
  /** @throws AppError `not_found`, `conflict` {code: 'NOT_RUNNING'}. */
  stats(id: string): Promise<RuntimeStats>
  /** Returns the last `tail` lines of output (at most `MAX_LOG_LINES`), oldest first. @throws AppError `not_found`. */
  logs(id: string, options: { tail: number }): Promise<string[]>
  /**
   * Yields the lines after `after` (from the oldest when null) and new ones, until the agent is removed or `signal`
   * aborts.
   */
  followLogs(id: string, options: { after: string | null; signal: AbortSignal }): AsyncIterable<RuntimeLogLine>
  /** Yields events until `signal` aborts. After an engine failure it yields `changed` for each agent. */
  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent>
  /** Lists the agents of this installation, by id. */
  list(): Promise<Inspection[]>
  /**
   * Writes the state of a stopped agent to `file`, a gzipped tar of mode 0600.
   * @throws AppError `not_found`, `conflict` {code: 'RUNNING'}.
   */
  snapshot(id: string, file: string): Promise<void>
  /**
   * Writes the state of an agent to `file` like `snapshot`, whether it runs or not; files of a running agent may be from
   * slightly different moments. Missing where an agent never moves to another machine.
   * @throws AppError `not_found`, `unavailable` when its machine is away.
   */
  copyState?(id: string, file: string): Promise<void>
  /** Replaces the state by a snapshot. @throws AppError `not_found`, `conflict` {code: 'RUNNING'}. */
  restore(id: string, file: string): Promise<void>
  /**
   * Returns access to an agent's files, whether it runs or not. Process agents have none: Stead reads their folders itself.
   * @throws AppError `unavailable` {code: 'NOT_CONFIGURED'} or {code: 'ON_ANOTHER_NODE'}.
   */
  openFiles?(id: string): Promise<AgentFiles>
  /**
   * Returns the bytes of each agent's state on this machine, by id. Too slow for a request. Process agents have none:
   * Stead reads their folders itself.
   */
  measureStored?(): Promise<ReadonlyMap<string, number>>
  /**
   * Returns the local image, or null; always null for process agents. @throws AppError `invalid` when it is no agent.
   */
  findImage(image: string): Promise<{ kind: AgentKind; version: string | null } | null>
  /**
   * Pulls `image` unless it is local; one pull at a time, limited in size and time. Does nothing for process agents.
   * @throws AppError `not_found` {code: 'IMAGE_NOT_FOUND'}, `invalid` when it is no agent or too large, `unavailable`
   * when it takes too long.
   */
  pull(image: string, onProgress: (progress: PullProgress) => void, signal: AbortSignal): Promise<void>
  /** Returns why programs of agents can reach the network without the egress proxy; null when they cannot. */
  egressGap(): string | null
  /** Returns the address of this machine for agents. */
  platformHost(): Promise<string>
  /**
   * Limits agents to these ports of this machine, where the platform may change the firewall. Missing where agents
   * reach no port of it, or every one.
   */
  limitHostPorts?(ports: readonly number[]): Promise<void>
  /** Returns whether agents can be deployed now. Never throws. */
  isAvailable(): Promise<boolean>
  /**
   * Ends supervision and leaves the agents running. With `stopAgents` they are stopped, and the next runtime starts
   * them again. Later calls throw; closing twice is allowed.
   */
  close(options?: { stopAgents?: boolean }): Promise<void>
}

/** Maximum lines of one `logs` call. */
export const MAX_LOG_LINES = 10_000

/** Exit code of an agent with a bad configuration (`EX_CONFIG`); a restart cannot help. */
export const BAD_CONFIGURATION_EXIT = 78

/** @throws AppError `invalid` naming the first bad field. */
export function requireSpec(spec: AgentSpec): AgentSpec {
  const parsed = AgentSpec.safeParse(spec)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new AppError('invalid', `Agent spec: ${issue?.path.join('.')} ${issue?.message}`)
}

/** Creates the error for an occupied host port. */
export function portTaken(port: number): AppError {
  return new AppError('conflict', `Port ${port} is already in use`, { code: 'PORT_TAKEN' })
}

/** Creates the error for an unknown agent. */
export function agentNotFound(): AppError {
  return new AppError('not_found', 'Agent not found')
}

/** Creates the error for calls that need a stopped agent. */
export function agentRunning(): AppError {
  return new AppError('conflict', 'Agent is running', { code: 'RUNNING' })
}

/** Creates the error for an image that is neither local nor in its registry. */
export function imageNotFound(image: string): AppError {
  return new AppError('not_found', `Image ${image} was not found`, { code: 'IMAGE_NOT_FOUND' })
}

/** Creates the error for calls after `close`. */
export function runtimeClosed(): AppError {
  return new AppError('unavailable', 'The agent runtime is closed')
}

export function engineUnavailable(cause?: unknown): AppError {
  return new AppError('internal', 'The container engine does not answer', { code: 'ENGINE_UNAVAILABLE' }, { cause })
}

/** Returns whether the engine did not respond, so that no status may change. */
export function isEngineUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.extra.code === 'ENGINE_UNAVAILABLE'
}

/** Creates the error for calls that need a running agent. */
export function agentNotRunning(): AppError {
  return new AppError('conflict', 'Agent is not running', { code: 'NOT_RUNNING' })
}
