import { z } from 'zod'
import { AppError } from '../core/errors.ts'

/** What every runtime accepts as an agent's id: also a folder name, a container name and a DNS label. */
const AgentId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'must be lower-case letters, digits and hyphens')

const VariableName = z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'must be an upper-case variable name')
// The operating system ends a variable at the first NUL, so the rest would be lost without a word.
const VariableValue = z.string().refine((value) => !value.includes('\0'), 'must not contain NUL')

// What a runtime itself tells an agent.
const RESERVED = new Set(['PATH', 'HOME', 'TMPDIR', 'LANG', 'PORT', 'HOST', 'NODE_ENV', 'AGENT_DIR'])

/**
 * What an agent is deployed from; two equal specs mean one deployment. `port` is on 127.0.0.1 of the host, `environment`
 * holds plain settings, each of `secrets` becomes a file of mode 0600 which the agent finds by `<NAME>_FILE`.
 */
export const AgentSpec = z.object({
  id: AgentId,
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
 * One agent as the runtime knows it. `startedAt` is null without a live process; `exitCode` is that of the last end, null
 * while running or when nobody saw it; `restarts` counts the unasked ones since it was last deployed or started.
 */
export type Inspection = {
  id: string
  state: AgentState
  port: number
  startedAt: Date | null
  exitCode: number | null
  restarts: number
}

/**
 * What a running agent uses. `cpuPercent` is of one core, since the previous call or the start. Null is what a runtime
 * cannot measure; it is never guessed.
 */
export type AgentStats = {
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

/**
 * Runs agents. Calls for one agent happen one after another, in the order they were made. Besides the kinds named here
 * every call may throw AppError `unavailable` (the engine does not answer, or the runtime is closed) and `internal`.
 */
export type Runtime = {
  readonly name: 'docker' | 'swarm' | 'process'
  /**
   * Makes the agent run as `spec` says: nothing happens when it does already, another spec replaces it. Resolves when the
   * agent has been started, which is before it is healthy.
   * @throws AppError `invalid` spec, `conflict` {code: 'PORT_TAKEN'}.
   */
  deploy(spec: AgentSpec): Promise<void>
  /** Fine when it runs. @throws AppError `not_found`, `conflict` {code: 'PORT_TAKEN'}. */
  start(id: string): Promise<void>
  /** Ends it, by force after 30 s, and keeps its data. Fine when it is stopped. @throws AppError `not_found`. */
  stop(id: string): Promise<void>
  /** Stop and start. @throws AppError `not_found`, `conflict` {code: 'PORT_TAKEN'}. */
  restart(id: string): Promise<void>
  /** Ends the agent and deletes all it has stored. Fine when there is none. */
  remove(id: string): Promise<void>
  /** Null when there is no such agent; never null because the engine did not answer. */
  inspect(id: string): Promise<Inspection | null>
  /** @throws AppError `not_found`, `conflict` {code: 'NOT_RUNNING'}. */
  stats(id: string): Promise<AgentStats>
  /** The last `tail` lines (at most `MAX_LOG_LINES`) of what it wrote, oldest first. @throws AppError `not_found`. */
  logs(id: string, options: { tail: number }): Promise<string[]>
  /** Every agent of this installation, by id. */
  list(): Promise<Inspection[]>
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

/** The error of asking a stopped agent for what only a running one has. */
export function agentNotRunning(): AppError {
  return new AppError('conflict', 'Agent is not running', { code: 'NOT_RUNNING' })
}
