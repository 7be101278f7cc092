import { withAppErrors } from '../../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import {
  type AgentSpec,
  agentNotRunning,
  type Inspection,
  MAX_LOG_LINES,
  type RuntimeEvent,
  type RuntimeLogLine,
  type RuntimeStats,
} from '../contract/runtime.ts'
import { CallQueue, RestartTimer } from './calls.ts'
import {
  type AgentFolder,
  type AgentRecord,
  createFolder,
  findRecord,
  hasSecrets,
  isSameFolder,
  removeFolder,
  writeSecrets,
} from './files.ts'
import { AgentLife, type AgentProcess, type LifeDeps } from './life.ts'
import { followLog, ProcessLog } from './log.ts'
import { restoreStateFolder, settleRestore, writeSnapshot } from './snapshot.ts'
import { endProcesses, findUnrecorded, isAlive, killLeftovers } from './spawn.ts'
import { type ProcessIdentity, StatsMeter } from './table.ts'

/**
 * `isPortWanted` returns whether another agent uses or claims the port, `mayStart` whether it may be started without
 * a request;
 * `publish` receives unrequested events.
 */
export type ProcessAgentDeps = Omit<LifeDeps, 'onEnd'> & {
  log: Log
  isPortWanted: (port: number, id: string) => boolean
  mayStart: (id: string) => boolean
  publish: (event: RuntimeEvent) => void
}

/**
 * One process agent: its desired state, its process, and a queue of changes. Without a record (never deployed,
 * removed or
 * unreadable) every call but `deploy` and `remove` throws `not_found`.
 */
export class ProcessAgent {
  readonly #deps: ProcessAgentDeps
  readonly #folder: AgentFolder
  readonly #calls: CallQueue
  readonly #log: ProcessLog
  readonly #life: AgentLife
  readonly #meter: StatsMeter
  readonly #restarts: RestartTimer

  constructor(deps: ProcessAgentDeps, folder: AgentFolder) {
    this.#deps = deps
    this.#folder = folder
    this.#log = new ProcessLog(folder)
    this.#life = new AgentLife({ ...deps, onEnd: (ended) => this.#noteEnd(ended) }, folder, this.#log)
    this.#meter = new StatsMeter(deps.table)
    this.#restarts = new RestartTimer(deps.timing)
    this.#calls = new CallQueue({ id: folder.id, log: deps.log, afterEach: () => this.#keepRunning() })
  }

  /** The agent's port, or the one it claims. */
  get wantedPort(): number | null {
    return this.#life.wantedPort
  }

  /** True when the agent is unknown and has no pending call, so that it can be dropped. */
  get isIdleAndUnknown(): boolean {
    return this.#life.record === null && this.#calls.isIdle
  }

  /** A process that an earlier run of the platform started; its exit is not reported. */
  get adopted(): ProcessIdentity | null {
    const current = this.#life.process
    return current && !current.child && !current.hasEnded ? current.identity : null
  }

  /**
   * Finds the process that an earlier run of the platform recorded; the queue then corrects deviations from the desired
   * state.
   */
  async recover(): Promise<void> {
    const record = await findRecord(this.#folder)
    if (!record) return
    await settleRestore(this.#folder)
    this.#life.load(record)
    if (record.process && (await isAlive(this.#deps.table, record.process))) {
      await this.#adopt(record.process)
      if (record.desired === 'stopped') this.#calls.supervise(() => this.#end())
      else this.#calls.supervise(() => this.#bringHome())
    } else if (this.#shouldRun()) {
      this.#calls.supervise(() => (record.process ? this.#relaunch() : this.#findOrRelaunch()))
    }
  }

  /** An agent that cannot be reached fails its health checks, and is restarted. */
  async #adopt(identity: ProcessIdentity): Promise<void> {
    this.#life.adopt(identity)
    await this.#life.reconnect().catch((error: unknown) => {
      this.#deps.log.error({ agentId: this.#folder.id, error: errorMessage(error) }, 'agent cannot be reached')
    })
  }

  /** Restarts a process that was started in another folder. This folder is a copy of that one, or its new location. */
  async #bringHome(): Promise<void> {
    const current = this.#life.process
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
    await this.#adopt(identity)
    await this.#life.write({ process: identity })
  }

  /** Returns whether the agent was last deployed with this spec. */
  async hasSpec({ secrets, ...plain }: AgentSpec): Promise<boolean> {
    return Bun.deepEquals(this.#life.record?.spec, plain, true) && (await hasSecrets(this.#folder, secrets))
  }

  deploy(spec: AgentSpec): Promise<void> {
    return this.#calls.enqueue(async () => {
      const { secrets, ...plain } = spec
      if (this.#life.isRunning && (await this.hasSpec(spec))) return
      await this.#life.takePort(spec.port)
      await this.#end()
      await createFolder(this.#folder)
      await writeSecrets(this.#folder, secrets)
      this.#life.prepare(plain)
      await this.#launchAsked()
    })
  }

  start(): Promise<void> {
    return this.#calls.enqueue(async () => {
      this.#life.requireRecord()
      if (!this.#life.isRunning) await this.#startAnew()
    })
  }

  stop(): Promise<void> {
    return this.#calls.enqueue(() => this.#stop(this.#deps.timing.stopMs))
  }

  kill(): Promise<void> {
    return this.#calls.enqueue(() => this.#stop(0))
  }

  async #stop(graceMs: number): Promise<void> {
    this.#life.requireRecord()
    // Written first, so that a crash does not bring it back.
    await this.#life.write({ desired: 'stopped' })
    await this.#end(graceMs)
    this.#life.leavePort()
  }

  restart(): Promise<void> {
    return this.#calls.enqueue(() => this.#startAnew())
  }

  async #startAnew(): Promise<void> {
    await this.#life.takePort(this.#life.requireRecord().spec.port)
    await this.#end()
    await this.#launchAsked()
  }

  remove(): Promise<void> {
    return this.#calls.enqueue(async () => {
      if (this.#life.record) await this.#life.write({ desired: 'stopped' })
      await this.#end()
      await removeFolder(this.#folder)
      await this.#log.forget()
      this.#life.forget()
      this.#life.leavePort()
    })
  }

  snapshot(file: string): Promise<void> {
    return this.#calls.enqueue(async () => {
      this.#life.requireStopped()
      await writeSnapshot(this.#folder, file)
    })
  }

  restore(file: string): Promise<void> {
    return this.#calls.enqueue(async () => {
      this.#life.requireStopped()
      await restoreStateFolder(this.#folder, file)
    })
  }

  inspect(): Inspection | null {
    return this.#life.inspect()
  }

  async stats(): Promise<RuntimeStats> {
    const record = this.#life.requireRecord()
    const identity = this.#life.isLive ? this.#life.process?.identity : undefined
    const stats = identity ? await this.#meter.measure(identity, record, () => this.#deps.clock.now()) : null
    if (!stats) throw agentNotRunning()
    return stats
  }

  async logs(tail: number): Promise<string[]> {
    this.#life.requireRecord()
    return withAppErrors(() => this.#log.readLast(Math.min(tail, MAX_LOG_LINES)))
  }

  followLogs(after: string | null, signal: AbortSignal): AsyncIterable<RuntimeLogLine> {
    this.#life.requireRecord()
    const { clock, timing } = this.#deps
    const isOver = () => this.#life.record === null || this.#calls.isClosed
    return followLog(this.#log, { after, signal, isOver, clock, pollMs: timing.pollMs })
  }

  /** Truncates the log of a live agent to its limit. */
  async trimLog(): Promise<void> {
    if (this.#life.isLive) await this.#log.cut(this.#deps.timing.maxLogBytes)
  }

  /** Must be called when an adopted process has ended. */
  noteGone(identity: ProcessIdentity): void {
    const current = this.#life.process
    if (current?.identity === identity) this.#life.noteEnd(current, null)
  }

  /** Ends supervision and waits for pending calls. With `stopAgents` the agent is stopped but stays wanted. */
  close(stopAgents: boolean): Promise<void> {
    this.#restarts.stop()
    return this.#calls.close(async () => {
      if (!stopAgents || !this.#life.process) return
      await this.#end()
      await this.#life.write({ exitCode: null })
    })
  }

  #shouldRun(): boolean {
    return this.#life.isWanted && this.#deps.mayStart(this.#life.requireRecord().spec.id)
  }

  /** Starts the agent on request; a failed start is reported and not retried. */
  async #launchAsked(): Promise<void> {
    this.#restarts.reset()
    try {
      await this.#life.launch({ restarts: 0 })
    } catch (error) {
      if (!this.#life.process) {
        this.#life.leavePort()
        await this.#life.write({ desired: 'stopped', startedAt: null })
      }
      throw error
    }
  }

  /** Ends the process and any scheduled restart. */
  async #end(graceMs = this.#deps.timing.stopMs): Promise<void> {
    this.#restarts.stop()
    await this.#life.end(graceMs)
  }

  #noteEnd(ended: AgentProcess): void {
    if (!this.#calls.isClosed) this.#calls.supervise(() => this.#afterEnd(ended))
  }

  async #afterEnd(ended: AgentProcess): Promise<void> {
    const { record, process } = this.#life
    if (process !== ended || !record) return
    const { clock, timing, log } = this.#deps
    const uptimeMs = clock.now().getTime() - Date.parse(record.startedAt ?? '')
    if (uptimeMs >= timing.steadyMs) this.#restarts.reset()
    log.warn({ agentId: record.spec.id, exitCode: ended.exitCode, uptimeMs }, 'agent process ended')
    await this.#life.clear(record, ended)
    this.#publish('died')
  }

  #publish(type: RuntimeEvent['type']): void {
    this.#deps.publish({ id: this.#folder.id, type, at: this.#deps.clock.now() })
  }

  /** Restarts an agent that should run but has no process, after every call. */
  #keepRunning(): void {
    if (this.#calls.isClosed || this.#life.process || !this.#shouldRun()) return
    this.#restarts.schedule(() => {
      const restarts = (this.#life.record?.restarts ?? 0) + 1
      this.#calls.supervise(() => this.#relaunch({ restarts }))
    })
  }

  async #relaunch(change: Partial<AgentRecord> = {}): Promise<void> {
    if (this.#life.isLive || !this.#shouldRun()) return
    await killLeftovers(this.#deps.table, this.#folder, null)
    await this.#life.launch(change)
    this.#publish('started')
  }
}
