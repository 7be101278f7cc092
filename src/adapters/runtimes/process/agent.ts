import { realpathSync } from 'node:fs'
import type { Clock } from '../../../core/clock.ts'
import { TaskQueue, withAppErrors } from '../../../core/concurrency/keyed-queue.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import {
  type AgentSpec,
  type AgentState,
  type AgentStats,
  agentNotFound,
  agentNotRunning,
  agentRunning,
  BAD_CONFIGURATION_EXIT,
  type Inspection,
  type LogLine,
  MAX_LOG_LINES,
  portTaken,
  type RuntimeEvent,
  runtimeClosed,
} from '../contract/runtime.ts'
import {
  type AgentFolder,
  type AgentRecord,
  createFolder,
  findRecord,
  hasSecrets,
  listSecrets,
  removeFolder,
  writeRecord,
  writeSecrets,
} from './files.ts'
import { followLog } from './follow.ts'
import { ProcessLog } from './log.ts'
import { restoreSnapshot, settleRestore, writeSnapshot } from './snapshot.ts'
import {
  endProcesses,
  findUnrecorded,
  isAlive,
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
 * What one agent needs of the runtime; `isPortWanted` says whether another agent has or wants to have the port,
 * `mayStart` whether it may be started when nobody asks, `tell` hears what happens to it unasked.
 */
export type ProcessAgentDeps = {
  spawn: SpawnSettings
  table: ProcessTable
  timing: ProcessTiming
  clock: Clock
  log: Log
  isPortWanted: (port: number, id: string) => boolean
  mayStart: (id: string) => boolean
  tell: (event: RuntimeEvent) => void
}

/** Where agents of this runtime listen. */
const LOCAL_HOST = '127.0.0.1'

type Child = ReturnType<typeof spawnAgent>

/** A process of the agent; `child` is null for one that an earlier platform started, whose exit code nobody learns. */
type AgentProcess = { identity: ProcessIdentity; child: Child | null; hasEnded: boolean; exitCode: number | null }

/**
 * One agent: what is wanted of it, its process, and the queue that lets one change happen at a time. Without a record
 * (never deployed, removed, or unreadable) every call but `deploy` and `remove` throws `not_found`.
 */
export class ProcessAgent {
  readonly #deps: ProcessAgentDeps
  readonly #folder: AgentFolder
  readonly #queue = new TaskQueue()
  readonly #log: ProcessLog
  #record: AgentRecord | null = null
  #process: AgentProcess | null = null
  #wantedPort: number | null = null
  #failures = 0
  #restart: Timer | null = null
  #isClosed = false
  #cpuSample: { identity: ProcessIdentity; cpuMs: number; atMs: number } | null = null

  constructor(deps: ProcessAgentDeps, folder: AgentFolder) {
    this.#deps = deps
    this.#folder = folder
    this.#log = new ProcessLog(folder)
  }

  /** The port it has, or is about to have. */
  get wantedPort(): number | null {
    return this.#wantedPort
  }

  /** Nothing is known of it and nothing is under way: it can be forgotten. */
  get isIdleAndUnknown(): boolean {
    return this.#record === null && this.#queue.isIdle
  }

  /** The process to look at when nobody else tells of its end. */
  get adopted(): ProcessIdentity | null {
    const current = this.#process
    return current && !current.child && !current.hasEnded ? current.identity : null
  }

  /** Finds the process an earlier platform recorded; what then differs from what is wanted is put right in the queue. */
  async recover(): Promise<void> {
    const record = await findRecord(this.#folder)
    if (!record) return
    await settleRestore(this.#folder)
    this.#record = record
    if (record.desired === 'running') this.#wantedPort = record.spec.port
    if (record.process && (await isAlive(this.#deps.table, record.process))) {
      this.#adopt(record.process)
      if (record.desired === 'stopped') this.#supervise(() => this.#end())
      else this.#supervise(() => this.#bringHome())
    } else if (this.#shouldRun()) {
      this.#supervise(() => (record.process ? this.#relaunch() : this.#findOrRelaunch()))
    }
  }

  /** A process that was started in another folder, of which this one is a copy or the new place, is started anew in this one. */
  async #bringHome(): Promise<void> {
    const current = this.#process
    if (!current || !this.#shouldRun()) return
    const mark = await this.#deps.table.markOf(current.identity.pid)
    if (mark === null || isSameFolder(mark, this.#folder.state)) return
    const elsewhere = { ...this.#folder, state: mark }
    await endProcesses(this.#deps.table, elsewhere, current.identity, this.#deps.timing.stopMs)
    await this.#end()
    await this.#relaunch()
  }

  async #findOrRelaunch(): Promise<void> {
    const identity = await findUnrecorded(this.#deps.table, this.#folder)
    if (!identity) return this.#relaunch()
    this.#adopt(identity)
    await this.#write({ process: identity })
  }

  #adopt(identity: ProcessIdentity): void {
    this.#process = { identity, child: null, hasEnded: false, exitCode: null }
  }

  deploy(spec: AgentSpec): Promise<void> {
    return this.#enqueue(async () => {
      const { secrets, ...plain } = spec
      if (this.#isRunning() && Bun.deepEquals(this.#record?.spec, plain, true)) {
        if (await hasSecrets(this.#folder, secrets)) return
      }
      await this.#takePort(spec.port)
      await this.#end()
      await createFolder(this.#folder)
      await writeSecrets(this.#folder, secrets)
      this.#record = { desired: 'running', spec: plain, process: null, startedAt: null, exitCode: null, restarts: 0 }
      await this.#launchAsked()
    })
  }

  start(): Promise<void> {
    return this.#enqueue(async () => {
      const record = this.#requireRecord()
      if (this.#isRunning()) return
      await this.#takePort(record.spec.port)
      await this.#end()
      await this.#launchAsked()
    })
  }

  stop(): Promise<void> {
    return this.#enqueue(() => this.#stop(this.#deps.timing.stopMs))
  }

  kill(): Promise<void> {
    return this.#enqueue(() => this.#stop(0))
  }

  async #stop(graceMs: number): Promise<void> {
    this.#requireRecord()
    // Written first: a crash from here on must not bring it back.
    await this.#write({ desired: 'stopped' })
    await this.#end(graceMs)
    this.#wantedPort = null
  }

  restart(): Promise<void> {
    return this.#enqueue(async () => {
      const record = this.#requireRecord()
      await this.#takePort(record.spec.port)
      await this.#end()
      await this.#launchAsked()
    })
  }

  remove(): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#record) await this.#write({ desired: 'stopped' })
      await this.#end()
      await removeFolder(this.#folder)
      await this.#log.forget()
      this.#record = null
      this.#wantedPort = null
    })
  }

  snapshot(file: string): Promise<void> {
    return this.#enqueue(async () => {
      this.#requireStopped()
      await writeSnapshot(this.#folder, file)
    })
  }

  restore(file: string): Promise<void> {
    return this.#enqueue(async () => {
      this.#requireStopped()
      await restoreSnapshot(this.#folder, file)
    })
  }

  inspect(): Inspection | null {
    const record = this.#record
    if (!record) return null
    const isLive = this.#isLive()
    return {
      id: record.spec.id,
      kind: 'stead',
      state: this.#state(record),
      host: LOCAL_HOST,
      port: record.spec.port,
      image: null,
      version: null,
      startedAt: isLive && record.startedAt ? new Date(record.startedAt) : null,
      exitCode: isLive ? null : (this.#process?.exitCode ?? record.exitCode),
      // Nothing tells of it here: the kernel ends a process by the signal that anybody may send.
      isOutOfMemory: false,
      restarts: record.restarts,
    }
  }

  async stats(): Promise<AgentStats> {
    const record = this.#requireRecord()
    const identity = this.#isLive() ? this.#process?.identity : undefined
    const rows = identity ? await withAppErrors(() => this.#deps.table.listGroup(identity.pid)) : []
    if (!identity || rows.length === 0) throw agentNotRunning()
    const atMs = this.#deps.clock.now().getTime()
    const startedMs = record.startedAt ? Date.parse(record.startedAt) : atMs
    const cpuMs = rows.reduce((sum, row) => sum + row.cpuMs, 0)
    const before = this.#cpuSample?.identity === identity ? this.#cpuSample : { cpuMs: 0, atMs: startedMs }
    this.#cpuSample = { identity, cpuMs, atMs }
    return {
      cpuPercent: toPercent(cpuMs - before.cpuMs, atMs - before.atMs),
      memoryBytes: rows.reduce((sum, row) => sum + row.residentBytes, 0),
      memoryLimitBytes: record.spec.limits.memoryBytes,
      processes: rows.length,
      uptimeMs: Math.max(0, atMs - startedMs),
      networkInBytes: null,
      networkOutBytes: null,
      diskReadBytes: null,
      diskWriteBytes: null,
    }
  }

  async logs(tail: number): Promise<string[]> {
    this.#requireRecord()
    return withAppErrors(() => this.#log.readLast(Math.min(tail, MAX_LOG_LINES)))
  }

  followLogs(after: string | null, signal: AbortSignal): AsyncIterable<LogLine> {
    this.#requireRecord()
    const { clock, timing } = this.#deps
    const isOver = () => this.#record === null || this.#isClosed
    return followLog(this.#log, { after, signal, isOver, clock, pollMs: timing.pollMs })
  }

  /** Keeps the log of a living agent within its bound. */
  async trimLog(): Promise<void> {
    if (this.#isLive()) await this.#log.cut(this.#deps.timing.maxLogBytes)
  }

  /** To be called when an adopted process is no longer there. */
  noteGone(identity: ProcessIdentity): void {
    if (this.#process?.identity === identity) this.#noteEnd(this.#process, null)
  }

  /** Ends supervision at once and waits for what is under way. With `stopAgents` the agent ends, but stays wanted. */
  close(stopAgents: boolean): Promise<void> {
    this.#isClosed = true
    this.#cancelRestart()
    return this.#run(async () => {
      if (!stopAgents || !this.#process) return
      await this.#end()
      await this.#write({ exitCode: null })
    })
  }

  #state(record: AgentRecord): AgentState {
    if (this.#isLive()) return 'running'
    if (record.desired === 'stopped') return 'stopped'
    return this.#hasBadConfiguration(record) ? 'exited' : 'restarting'
  }

  #hasBadConfiguration(record: AgentRecord): boolean {
    return (this.#process?.exitCode ?? record.exitCode) === BAD_CONFIGURATION_EXIT
  }

  #shouldRun(): boolean {
    const record = this.#record
    return record?.desired === 'running' && !this.#hasBadConfiguration(record) && this.#deps.mayStart(record.spec.id)
  }

  #isLive(): boolean {
    return this.#process !== null && !this.#process.hasEnded
  }

  #isRunning(): boolean {
    return this.#record?.desired === 'running' && this.#isLive()
  }

  #requireStopped(): void {
    const state = this.#state(this.#requireRecord())
    if (state !== 'stopped' && state !== 'exited') throw agentRunning()
  }

  #requireRecord(): AgentRecord {
    if (!this.#record) throw agentNotFound()
    return this.#record
  }

  /** Claimed before the first wait, so that of two agents wanting the same port at once one is refused. */
  async #takePort(port: number): Promise<void> {
    if (this.#deps.isPortWanted(port, this.#folder.id)) throw portTaken(port)
    const before = this.#wantedPort
    this.#wantedPort = port
    try {
      if (this.#isLive() && this.#record?.spec.port === port) return
      if (!this.#isLive()) await killLeftovers(this.#deps.table, this.#folder, this.#process?.identity ?? null)
      if (!(await isPortFree(port))) throw portTaken(port)
    } catch (error) {
      this.#wantedPort = before
      throw error
    }
  }

  /** A start somebody asked for: when it fails they are told, and nothing happens behind their back afterwards. */
  async #launchAsked(): Promise<void> {
    this.#failures = 0
    try {
      await this.#launch({ restarts: 0 })
    } catch (error) {
      if (!this.#process) {
        this.#wantedPort = null
        await this.#write({ desired: 'stopped', startedAt: null })
      }
      throw error
    }
  }

  async #launch({ restarts, ...change }: Partial<AgentRecord>): Promise<void> {
    await createFolder(this.#folder)
    await this.#log.prepare(this.#deps.timing.maxLogBytes)
    const secretNames = await listSecrets(this.#folder)
    const startedAt = this.#deps.clock.now().toISOString()
    await this.#write({ ...change, desired: 'running', process: null, startedAt, exitCode: null })
    const child = this.#spawn(secretNames)
    const identity = await this.#identify(child)
    const launched: AgentProcess = { identity, child, hasEnded: false, exitCode: null }
    this.#process = launched
    void child.exited.then((exitCode) => this.#noteEnd(launched, exitCode))
    // The count is seen together with the process that it counts: whoever compares would take it for another end before.
    await this.#write({ ...(identity.startTime && { process: identity }), ...(restarts !== undefined && { restarts }) })
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
      return spawnAgent(this.#deps.spawn, this.#folder, this.#requireRecord().spec, secretNames)
    } catch (cause) {
      throw new AppError('internal', 'The agent process could not be started', {}, { cause })
    }
  }

  /** Afterwards the agent has no process, whatever it had, and none is about to start. */
  async #end(graceMs = this.#deps.timing.stopMs): Promise<void> {
    this.#cancelRestart()
    const ended = this.#process
    await endProcesses(this.#deps.table, this.#folder, ended?.identity ?? null, graceMs)
    this.#process = null
    await this.#log.endLine()
    if (!this.#record || !ended) return
    const exitCode = ended.child ? await ended.child.exited : null
    await this.#write({ process: null, startedAt: null, exitCode })
  }

  #noteEnd(ended: AgentProcess, exitCode: number | null): void {
    ended.hasEnded = true
    ended.exitCode = exitCode
    if (!this.#isClosed) this.#supervise(() => this.#afterEnd(ended))
  }

  async #afterEnd(ended: AgentProcess): Promise<void> {
    const record = this.#record
    if (this.#process !== ended || !record) return
    const { clock, timing, log, table } = this.#deps
    const uptimeMs = clock.now().getTime() - Date.parse(record.startedAt ?? '')
    if (uptimeMs >= timing.steadyMs) this.#failures = 0
    log.warn({ agentId: record.spec.id, exitCode: ended.exitCode, uptimeMs }, 'agent process ended')
    this.#process = null
    this.#record = { ...record, process: null, startedAt: null, exitCode: ended.exitCode }
    await killLeftovers(table, this.#folder, ended.identity)
    await this.#log.endLine()
    await this.#write({})
    this.#tell('died')
  }

  #tell(type: RuntimeEvent['type']): void {
    this.#deps.tell({ id: this.#folder.id, type, at: this.#deps.clock.now() })
  }

  /** Whatever a call ended with, an agent that should run and has no process is started again. */
  #keepRunning(): void {
    if (this.#isClosed || this.#process || this.#restart || !this.#shouldRun()) return
    const delayMs = this.#deps.timing.backoffMs(this.#failures)
    this.#failures += 1
    this.#restart = setTimeout(() => {
      this.#restart = null
      const restarts = (this.#record?.restarts ?? 0) + 1
      this.#supervise(() => this.#relaunch({ restarts }))
    }, delayMs)
    this.#restart.unref()
  }

  #cancelRestart(): void {
    if (this.#restart) clearTimeout(this.#restart)
    this.#restart = null
  }

  async #relaunch(change: Partial<AgentRecord> = {}): Promise<void> {
    if (this.#isLive() || !this.#shouldRun()) return
    await killLeftovers(this.#deps.table, this.#folder, null)
    await this.#launch(change)
    this.#tell('started')
  }

  async #write(change: Partial<AgentRecord>): Promise<void> {
    this.#record = { ...this.#requireRecord(), ...change }
    await writeRecord(this.#folder, this.#record)
  }

  /** Work nobody waits for: what goes wrong is logged, and the queue goes on. */
  #supervise(task: () => Promise<void>): void {
    this.#run(async () => {
      if (!this.#isClosed) await task()
    }).catch((error: unknown) => {
      const reason = error instanceof Error && error.cause ? errorMessage(error.cause) : errorMessage(error)
      this.#deps.log.error({ agentId: this.#folder.id, error: reason }, 'agent supervision failed')
    })
  }

  #enqueue<T>(task: () => Promise<T>): Promise<T> {
    return this.#run(() => {
      if (this.#isClosed) throw runtimeClosed()
      return task()
    })
  }

  #run<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.run(() => withAppErrors(task).finally(() => this.#keepRunning()))
  }
}

/** Are these two names of one folder? */
function isSameFolder(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

function toPercent(cpuMs: number, elapsedMs: number): number {
  return elapsedMs > 0 ? Math.max(0, (cpuMs / elapsedMs) * 100) : 0
}
