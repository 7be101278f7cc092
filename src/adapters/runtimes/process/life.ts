import { rm } from 'node:fs/promises'
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
import type { AgentNetwork } from './network.ts'
import { toIsolation } from './sandbox/confinement.ts'
import { prepareConfined } from './sandbox/launch.ts'
import { endProcesses, isPortFree, killLeftovers, type SpawnSettings, spawnAgent } from './spawn.ts'
import type { ProcessIdentity, ProcessTable } from './table.ts'

/**
 * `backoffMs` returns the delay of the n-th consecutive restart (from 0); after `steadyMs` of uptime the count starts
 * again.
 * `pollMs` is the interval of checks of adopted processes and logs; `stopMs` is the time before a kill.
 */
export type ProcessTiming = {
  backoffMs: (failures: number) => number
  steadyMs: number
  pollMs: number
  stopMs: number
  maxLogBytes: number
}

/**
 * `isPortWanted` returns whether another agent uses or claims the port; `onEnd` is called when the process ended by
 * itself.
 */
export type LifeDeps = {
  spawn: SpawnSettings
  table: ProcessTable
  timing: ProcessTiming
  clock: Clock
  network: AgentNetwork
  isPortWanted: (port: number, id: string) => boolean
  onEnd: (ended: AgentProcess) => void
}

/** The address on which process agents listen. */
const LOCAL_HOST = '127.0.0.1'

type Child = ReturnType<typeof spawnAgent>

/**
 * A process of the agent; `child` is null for a process that an earlier run of the platform started; its exit code is
 * unknown.
 */
export type AgentProcess = {
  identity: ProcessIdentity
  child: Child | null
  hasEnded: boolean
  exitCode: number | null
}

/** The record of one agent, and its process. Calls must be serialized by the caller. */
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

  /** The agent's port, or the one it claims. */
  get wantedPort(): number | null {
    return this.#wantedPort
  }

  get isLive(): boolean {
    return this.#process !== null && !this.#process.hasEnded
  }

  /** True when it should run and does. */
  get isRunning(): boolean {
    return this.#record?.desired === 'running' && this.isLive
  }

  /** True when it should run, given its record and its last exit code. */
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

  /** Loads the record that an earlier run of the platform wrote. */
  load(record: AgentRecord): void {
    this.#record = record
    if (record.desired === 'running') this.#wantedPort = record.spec.port
  }

  /** Takes over a process that an earlier run of the platform started. */
  adopt(identity: ProcessIdentity): void {
    this.#process = { identity, child: null, hasEnded: false, exitCode: null }
  }

  /** Reconnects such a process with the platform. @throws AppError `conflict` {code: 'PORT_TAKEN'}. */
  async reconnect(): Promise<void> {
    const { isolation, spec } = this.requireRecord()
    if (isolation.egressEnforced) await this.#deps.network.open(this.#folder, spec)
  }

  /** Sets the spec of the next `launch`. */
  prepare(spec: Omit<AgentSpec, 'secrets'>): void {
    const isolation = toIsolation(this.#deps.spawn.isolating, spec.environment)
    this.#record = { desired: 'running', spec, process: null, startedAt: null, exitCode: null, restarts: 0, isolation }
  }

  /** Writes the record durably. @throws AppError `not_found`. */
  async write(change: Partial<AgentRecord>): Promise<void> {
    this.#record = { ...this.requireRecord(), ...change }
    await writeRecord(this.#folder, this.#record)
  }

  /** Drops the record. */
  forget(): void {
    this.#record = null
  }

  /**
   * Claims a port before the first await, so that of two concurrent claims one fails.
   * @throws AppError `conflict` {code: 'PORT_TAKEN'}.
   */
  async takePort(port: number): Promise<void> {
    if (this.#deps.isPortWanted(port, this.#folder.id)) throw portTaken(port)
    const before = this.#wantedPort
    this.#wantedPort = port
    try {
      if (this.isLive && this.#record?.spec.port === port) return
      if (!this.isLive) await killLeftovers(this.#deps.table, this.#folder, this.#process?.identity ?? null)
      this.#deps.network.close(this.#folder.id)
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
    const { isolating } = this.#deps.spawn
    const { confinement } = isolating
    const { spec } = this.requireRecord()
    if (confinement) await prepareConfined(confinement, this.#folder, spec.port)
    await this.#log.prepare(this.#deps.timing.maxLogBytes)
    const secretNames = await listSecrets(this.#folder)
    const startedAt = this.#deps.clock.now().toISOString()
    const isolation = toIsolation(isolating, spec.environment)
    if (isolation.egressEnforced) await this.#deps.network.open(this.#folder, spec)
    await this.write({ ...change, desired: 'running', process: null, startedAt, exitCode: null, isolation })
    const child = this.#spawn(secretNames)
    const identity = await this.#identify(child)
    const launched: AgentProcess = { identity, child, hasEnded: false, exitCode: null }
    this.#process = launched
    void child.exited.then((exitCode) => this.noteEnd(launched, exitCode))
    // Written together with the process, or the count would look like another crash of the previous one.
    await this.write({ ...(identity.startTime && { process: identity }), ...(restarts !== undefined && { restarts }) })
  }

  /** Ends every process of the agent. */
  async end(graceMs = this.#deps.timing.stopMs): Promise<void> {
    const ended = this.#process
    await endProcesses(this.#deps.table, this.#folder, ended?.identity ?? null, graceMs)
    this.#process = null
    this.#deps.network.close(this.#folder.id)
    // Most programs cannot copy a folder with sockets.
    await rm(this.#folder.sockets, { recursive: true, force: true })
    await this.#log.endLine()
    if (!this.#record || !ended) return
    const exitCode = ended.child ? await ended.child.exited : null
    await this.write({ process: null, startedAt: null, exitCode })
  }

  /** Also to be called when an adopted process has ended. */
  noteEnd(ended: AgentProcess, exitCode: number | null): void {
    ended.hasEnded = true
    ended.exitCode = exitCode
    this.#deps.onEnd(ended)
  }

  /** Cleans up after a process that ended by itself. */
  async clear(record: AgentRecord, ended: AgentProcess): Promise<void> {
    this.#process = null
    this.#record = { ...record, process: null, startedAt: null, exitCode: ended.exitCode }
    await killLeftovers(this.#deps.table, this.#folder, ended.identity)
    await this.#log.endLine()
    await this.write({})
  }

  /** Returns null without a record. */
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
      // Unknown: the kernel's out-of-memory kill looks like any other signal.
      isOutOfMemory: false,
      restarts: record.restarts,
      isolation: this.isLive ? record.isolation : toIsolation(this.#deps.spawn.isolating, record.spec.environment),
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

  /** Returns the identity of a child; without a start time when it has ended already. */
  async #identify(child: Child): Promise<ProcessIdentity> {
    try {
      const [row] = await this.#deps.table.find([child.pid])
      return { pid: child.pid, startTime: row?.startTime ?? '' }
    } catch (error) {
      // An unidentified process could never be stopped.
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
