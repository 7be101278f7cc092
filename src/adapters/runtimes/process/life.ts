import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import {
  type AgentSpec,
  type AgentState,
  agentNotFound,
  agentRunning,
  BAD_CONFIGURATION_EXIT,
  type Inspection,
  portTaken,
} from '../contract/runtime.ts'
import { type AgentFolder, type AgentRecord, createFolder, listSecrets, writeRecord } from './files.ts'
import type { ProcessLog } from './log.ts'
import {
  endProcesses,
  isPortFree,
  killLeftovers,
  type ProcessIdentity,
  type SpawnSettings,
  spawnAgent,
} from './spawn.ts'
import type { ProcessTable } from './table.ts'

/**
 * `backoffMs` tells how long the n-th start in a row (from 0) waits; `steadyMs` of uptime begin a new row; `pollMs` is how
 * often adopted processes and logs are looked at; `stopMs` is how long an agent may take to end before it is killed.
 */
export type ProcessTiming = {
  backoffMs: (failures: number) => number
  steadyMs: number
  pollMs: number
  stopMs: number
  maxLogBytes: number
}

/**
 * `isPortWanted` says whether another agent has or wants to have the port; `onEnd` hears that the process has ended by itself,
 * however it did.
 */
export type LifeDeps = {
  spawn: SpawnSettings
  table: ProcessTable
  timing: ProcessTiming
  clock: Clock
  isPortWanted: (port: number, id: string) => boolean
  onEnd: (ended: AgentProcess) => void
}

/** Where agents of this runtime listen. */
const LOCAL_HOST = '127.0.0.1'

type Child = ReturnType<typeof spawnAgent>

/** A process of the agent; `child` is null for one that an earlier platform started, whose exit code nobody learns. */
export type AgentProcess = {
  identity: ProcessIdentity
  child: Child | null
  hasEnded: boolean
  exitCode: number | null
}

/** What is recorded of one agent, and its process: starts and ends it. Whoever calls sees to it that it is one at a time. */
export class AgentLife {
  readonly #deps: LifeDeps
  readonly #folder: AgentFolder
  readonly #log: ProcessLog
  #record: AgentRecord | null = null
  #process: AgentProcess | null = null
  #wantedPort: number | null = null

  constructor(deps: LifeDeps, folder: AgentFolder, log: ProcessLog) {
    this.#deps = deps
    this.#folder = folder
    this.#log = log
  }

  get record(): AgentRecord | null {
    return this.#record
  }

  get process(): AgentProcess | null {
    return this.#process
  }

  /** The port it has, or is about to have. */
  get wantedPort(): number | null {
    return this.#wantedPort
  }

  get isLive(): boolean {
    return this.#process !== null && !this.#process.hasEnded
  }

  /** Should it run, and does it? */
  get isRunning(): boolean {
    return this.#record?.desired === 'running' && this.isLive
  }

  /** Should it run, as far as its record and its last exit tell? */
  get isWanted(): boolean {
    return this.#record?.desired === 'running' && !this.#hasBadConfiguration(this.#record)
  }

  /** @throws AppError `not_found`. */
  requireRecord(): AgentRecord {
    if (!this.#record) throw agentNotFound()
    return this.#record
  }

  /** @throws AppError `not_found`, `conflict` while it runs. */
  requireStopped(): void {
    const state = this.#state(this.requireRecord())
    if (state !== 'stopped' && state !== 'exited') throw agentRunning()
  }

  /** Takes over what an earlier platform recorded. */
  load(record: AgentRecord): void {
    this.#record = record
    if (record.desired === 'running') this.#wantedPort = record.spec.port
  }

  /** Takes over a process that an earlier platform started. */
  adopt(identity: ProcessIdentity): void {
    this.#process = { identity, child: null, hasEnded: false, exitCode: null }
  }

  /** What the next `launch` starts. */
  prepare(spec: Omit<AgentSpec, 'secrets'>): void {
    this.#record = { desired: 'running', spec, process: null, startedAt: null, exitCode: null, restarts: 0 }
  }

  /** Durable when it resolves. @throws AppError `not_found`. */
  async write(change: Partial<AgentRecord>): Promise<void> {
    this.#record = { ...this.requireRecord(), ...change }
    await writeRecord(this.#folder, this.#record)
  }

  /** Nothing is known of it any more. */
  forget(): void {
    this.#record = null
  }

  /**
   * Claimed before the first wait, so that of two agents wanting the same port at once one is refused.
   * @throws AppError `conflict` {code: 'PORT_TAKEN'}.
   */
  async takePort(port: number): Promise<void> {
    if (this.#deps.isPortWanted(port, this.#folder.id)) throw portTaken(port)
    const before = this.#wantedPort
    this.#wantedPort = port
    try {
      if (this.isLive && this.#record?.spec.port === port) return
      if (!this.isLive) await killLeftovers(this.#deps.table, this.#folder, this.#process?.identity ?? null)
      if (!(await isPortFree(port))) throw portTaken(port)
    } catch (error) {
      this.#wantedPort = before
      throw error
    }
  }

  leavePort(): void {
    this.#wantedPort = null
  }

  /** @throws AppError `internal` when the process cannot be started. */
  async launch({ restarts, ...change }: Partial<AgentRecord>): Promise<void> {
    await createFolder(this.#folder)
    await this.#log.prepare(this.#deps.timing.maxLogBytes)
    const secretNames = await listSecrets(this.#folder)
    const startedAt = this.#deps.clock.now().toISOString()
    await this.write({ ...change, desired: 'running', process: null, startedAt, exitCode: null })
    const child = this.#spawn(secretNames)
    const identity = await this.#identify(child)
    const launched: AgentProcess = { identity, child, hasEnded: false, exitCode: null }
    this.#process = launched
    void child.exited.then((exitCode) => this.noteEnd(launched, exitCode))
    // The count is seen together with the process that it counts: whoever compares would take it for another end before.
    await this.write({ ...(identity.startTime && { process: identity }), ...(restarts !== undefined && { restarts }) })
  }

  /** Afterwards the agent has no process, whatever it had. */
  async end(graceMs = this.#deps.timing.stopMs): Promise<void> {
    const ended = this.#process
    await endProcesses(this.#deps.table, this.#folder, ended?.identity ?? null, graceMs)
    this.#process = null
    await this.#log.endLine()
    if (!this.#record || !ended) return
    const exitCode = ended.child ? await ended.child.exited : null
    await this.write({ process: null, startedAt: null, exitCode })
  }

  /** To be called as well when an adopted process is no longer there. */
  noteEnd(ended: AgentProcess, exitCode: number | null): void {
    ended.hasEnded = true
    ended.exitCode = exitCode
    this.#deps.onEnd(ended)
  }

  /** Puts away a process that has ended by itself. */
  async clear(record: AgentRecord, ended: AgentProcess): Promise<void> {
    this.#process = null
    this.#record = { ...record, process: null, startedAt: null, exitCode: ended.exitCode }
    await killLeftovers(this.#deps.table, this.#folder, ended.identity)
    await this.#log.endLine()
    await this.write({})
  }

  /** Null without a record. */
  inspect(): Inspection | null {
    const record = this.#record
    if (!record) return null
    return {
      id: record.spec.id,
      kind: 'stead',
      state: this.#state(record),
      host: LOCAL_HOST,
      port: record.spec.port,
      image: null,
      version: null,
      startedAt: this.isLive && record.startedAt ? new Date(record.startedAt) : null,
      exitCode: this.isLive ? null : this.#lastExitCode(record),
      // Nothing tells of it here: the kernel ends a process by the signal that anybody may send.
      isOutOfMemory: false,
      restarts: record.restarts,
    }
  }

  #state(record: AgentRecord): AgentState {
    if (this.isLive) return 'running'
    if (record.desired === 'stopped') return 'stopped'
    return this.#hasBadConfiguration(record) ? 'exited' : 'restarting'
  }

  #lastExitCode(record: AgentRecord): number | null {
    return this.#process?.exitCode ?? record.exitCode
  }

  #hasBadConfiguration(record: AgentRecord): boolean {
    return this.#lastExitCode(record) === BAD_CONFIGURATION_EXIT
  }

  /** Without a start time when it has ended already: its exit comes next. */
  async #identify(child: Child): Promise<ProcessIdentity> {
    try {
      const [row] = await this.#deps.table.find([child.pid])
      return { pid: child.pid, startTime: row?.startTime ?? '' }
    } catch (error) {
      // Nobody would ever stop a process that nobody knows.
      child.kill('SIGKILL')
      await child.exited
      throw error
    }
  }

  #spawn(secretNames: string[]): Child {
    try {
      return spawnAgent(this.#deps.spawn, this.#folder, this.requireRecord().spec, secretNames)
    } catch (cause) {
      throw new AppError('internal', 'The agent process could not be started', {}, { cause })
    }
  }
}
