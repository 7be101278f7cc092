import { and, count, eq, isNotNull, isNull, ne, or, sql } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { toWholeSecond } from '../../../core/concurrency/timing.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import { pause } from '../../../jobs/runner.ts'
import { jobs } from '../../../jobs/tables.ts'
import { findAgentRow, isRunHere } from '../registry/agents.ts'
import { watchAgentEvents } from '../registry/status.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { listReturnRungs } from './ladder.ts'
import { type LookDeps, lookAtAgent } from './look.ts'
import { type Rung, type WatchdogInput, wantsRepair, wantsRetry } from './next-state.ts'
import { findWatchdog, type RecordDeps, recordEvents, recordRetry } from './record.ts'
import { rulesOf } from './rules.ts'
import { hostFaults, type WatchdogRow, watchdogs } from './tables.ts'

export type WatchDeps = LookDeps & {
  runtimes: Pick<Runtimes, 'runtimeOf' | 'watch'>
  /** Takes a rung of the repair ladder. @returns whether the agent became healthy. @throws AppError. */
  repairAgent(agentId: string, rung: Rung, signal: AbortSignal): Promise<boolean>
}

type Watched = { agent: AgentRow; watchdog: WatchdogRow | null }

const MAX_LOOKS = 32
const MAX_REPAIRS = 2
const MAX_TICK_MS = 1000
const MIN_TICK_MS = 20
/** Pause when more agents are due than are checked at once. */
const HURRIED_TICK_MS = 100
/** Pause before a broken event stream is opened again. */
const RESUME_MS = 1000

/**
 * Watches all agents until `signal` aborts, then waits for pending checks and repairs. Agents that do not run, or are
 * being changed, are skipped.
 */
export async function runWatchdog(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  const watch = new WatchdogLoop(deps, signal)
  await Promise.all([watch.tickUntilStopped(), watch.followEvents()])
  await watch.settle()
}

/** Pending checks and repairs, and ends that the runtime reported. */
class WatchdogLoop {
  readonly #deps: WatchDeps
  readonly #signal: AbortSignal
  readonly #looks = new Map<string, Promise<void>>()
  readonly #repairs = new Map<string, Promise<void>>()
  /** Agents to check soon; true when the runtime reported an end. */
  readonly #wanted = new Map<string, boolean>()

  constructor(deps: WatchDeps, signal: AbortSignal) {
    this.#deps = deps
    this.#signal = signal
  }

  async tickUntilStopped(): Promise<void> {
    const tickMs = Math.min(MAX_TICK_MS, Math.max(MIN_TICK_MS, this.#deps.watchdogSettings.degradedCheckMs / 2))
    while (!this.#signal.aborted) {
      const hasMore = await this.#tick().catch((error) => {
        this.#deps.log.error({ error: errorMessage(error) }, 'watchdog failed')
        return false
      })
      await pause(hasMore ? Math.min(tickMs, HURRIED_TICK_MS) : toWholeSecond(tickMs), this.#signal)
    }
  }

  /** Schedules a check after every event. */
  async followEvents(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        for await (const { id, type } of watchAgentEvents(this.#deps, this.#signal)) {
          this.#wanted.set(id, type === 'died' || (this.#wanted.get(id) ?? false))
        }
      } catch (error) {
        this.#deps.log.debug({ error: errorMessage(error) }, 'watchdog: the events of the runtime broke off')
      }
      await pause(RESUME_MS, this.#signal)
    }
  }

  async settle(): Promise<void> {
    await Promise.all([...this.#looks.values(), ...this.#repairs.values()])
  }

  /** Runs one round. @returns true when more agents are due than may be checked at once. */
  async #tick(): Promise<boolean> {
    const all = watchedAgents(this.#deps.db).all()
    this.#forgetUnwanted(all)
    const free = this.#filterFree(all)
    await Promise.all(free.map(({ agent, watchdog }) => this.#recordChange(agent, watchdog)))
    const running = free.filter(({ agent }) => agent.status === 'running')
    const due = running.filter(({ agent, watchdog }) => this.#isDue(agent.id, watchdog))
    const spareLooks = MAX_LOOKS - this.#looks.size
    for (const { agent } of due.slice(0, spareLooks)) this.#look(agent)
    const idle = free.filter(({ agent }) => !this.#looks.has(agent.id))
    await this.#repairWhatFails(idle)
    return due.length > spareLooks
  }

  /** Drops events of agents that should not run. */
  #forgetUnwanted(all: Watched[]): void {
    const running = new Set(all.filter(({ agent }) => agent.status === 'running').map(({ agent }) => agent.id))
    for (const id of this.#wanted.keys()) if (!running.has(id)) this.#wanted.delete(id)
  }

  /** Returns the agents without running or queued work; the keys of such jobs have the form `<kind>:<agent>`. */
  #filterFree(all: Watched[]): Watched[] {
    const { db, agentLocks } = this.#deps
    const asked = new Set(
      jobKeys(db)
        .all()
        .map(({ key }) => key?.slice(key.indexOf(':') + 1)),
    )
    return all.filter(
      ({ agent: { id } }) =>
        !this.#looks.has(id) && !this.#repairs.has(id) && !asked.has(id) && !agentLocks.isLocked(id),
    )
  }

  async #recordChange(agent: AgentRow, watchdog: WatchdogRow | null): Promise<void> {
    const event = this.#findChange(agent, watchdog)
    if (!event) return
    if (event.type === 'started') this.#wanted.delete(agent.id)
    await this.#record(agent, event)
  }

  /** Returns the change of an agent's row that the watchdog has not recorded yet. */
  #findChange(agent: AgentRow, watchdog: WatchdogRow | null): WatchdogInput | null {
    const at = this.#deps.steady.now().getTime()
    if (agent.status === 'provisioning' || agent.status === 'pending') return null
    if (agent.status === 'sleeping') return watchdog?.state === 'sleeping' ? null : { type: 'slept', at }
    if (agent.status !== 'running') {
      // The watchdog sets `error` itself when it gives up: this is no stop.
      const isKnown =
        !watchdog || watchdog.state === 'stopped' || (watchdog.state === 'crash_loop' && agent.status === 'error')
      if (isKnown) return null
      return { type: agent.status === 'error' ? 'start-failed' : 'stopped', at }
    }
    const isNew = !watchdog || watchdog.state === 'stopped' || watchdog.state === 'sleeping'
    if (isNew || watchdog.agentStartedAt !== (agent.startedAt?.getTime() ?? null)) return { type: 'started', at }
    return watchdog.state === 'repairing' ? { type: 'repair-interrupted', at } : null
  }

  #isDue(agentId: string, watchdog: WatchdogRow | null): boolean {
    if (this.#wanted.has(agentId)) return true
    const { steady, watchdogSettings } = this.#deps
    const inMs = (watchdog?.nextCheckAt ?? 0) - steady.now().getTime()
    return inMs <= 0 || inMs > watchdogSettings.checkMs
  }

  #look(agent: AgentRow): void {
    const hasDied = this.#wanted.get(agent.id) ?? false
    this.#wanted.delete(agent.id)
    const look = lookAtAgent(this.#deps, agent, hasDied)
      .then((hasSeen) => {
        if (!hasSeen) this.#wanted.set(agent.id, hasDied || this.#wanted.get(agent.id) === true)
      })
      .catch((error) => this.#deps.log.error({ agent: agent.id, error: errorMessage(error) }, 'watchdog cannot look'))
      .finally(() => this.#looks.delete(agent.id))
    this.#looks.set(agent.id, look)
  }

  /**
   * Repairs at most two agents at a time, the longest failing first, and none during a host fault. Agents that were
   * given up come last.
   */
  async #repairWhatFails(all: Watched[]): Promise<void> {
    if (await findHostFault(this.#deps)) return
    const failing = all.filter((one) => this.#wantsRepair(one)).sort(byTimeOfFailure)
    const retried = all.filter((one) => this.#wantsRetry(one)).sort(byTimeOfFailure)
    for (const { agent } of [...failing, ...retried].slice(0, MAX_REPAIRS - this.#repairs.size)) {
      const repair = this.#repair(agent)
        .catch((error) =>
          this.#deps.log.error({ agent: agent.id, error: errorMessage(error) }, 'watchdog cannot record a repair'),
        )
        .finally(() => this.#repairs.delete(agent.id))
      this.#repairs.set(agent.id, repair)
    }
  }

  #wantsRepair({ agent, watchdog }: Watched): boolean {
    if (agent.status !== 'running' || watchdog?.state !== 'degraded') return false
    const { db, watchdogSettings } = this.#deps
    return wantsRepair(watchdog, rulesOf(watchdogSettings, agent, listReturnRungs(this.#deps, db, agent)))
  }

  #wantsRetry({ agent, watchdog }: Watched): boolean {
    return (
      agent.status === 'error' && watchdog !== null && wantsRetry(watchdog, this.#now(), this.#deps.watchdogSettings)
    )
  }

  async #repair(seen: AgentRow): Promise<void> {
    const begun = await this.#begin(seen)
    if (!begun) return
    const { agent, rung } = begun
    const isRepaired = await this.#tryRepair(agent, rung)
    // After a restart the platform evaluates the agent again.
    if (this.#signal.aborted) return
    this.#wanted.delete(agent.id)
    const at = this.#now()
    if (isRepaired === null) await this.#record(agent, { type: 'repair-interrupted', at })
    else await this.#record(agent, { type: 'repair-ended', at, isRepaired })
  }

  /**
   * Records the start of a repair.
   * @returns the agent and the rung that it takes; null when the agent changed in the meantime.
   */
  async #begin(seen: AgentRow): Promise<{ agent: AgentRow; rung: Rung } | null> {
    const { db } = this.#deps
    const at = this.#now()
    const state =
      seen.status === 'error'
        ? await this.#whileSame(seen, (tx, agent) => recordRetry(this.#deps, tx, agent))
        : await this.#record(seen, { type: 'repair-begun', at })
    const agent = findAgentRow(db, seen.id)
    const { rung } = findWatchdog(db, seen.id, at)
    return state === 'repairing' && agent && rung ? { agent, rung } : null
  }

  /** Returns null when nothing was tried or the engine did not respond, which is no failed repair. */
  async #tryRepair(agent: AgentRow, rung: Rung): Promise<boolean | null> {
    // Other work may just have restarted the agent, so do not wait for the lock.
    if (this.#deps.agentLocks.isLocked(agent.id)) return null
    try {
      return await this.#deps.repairAgent(agent.id, rung, this.#signal)
    } catch (error) {
      this.#deps.log.warn({ agent: agent.id, error: errorMessage(error) }, 'an agent could not be repaired')
      return error instanceof AppError && error.kind === 'unavailable' ? null : false
    }
  }

  /** Records an event unless the agent was restarted or stopped in the meantime. */
  async #record(seen: AgentRow, event: WatchdogInput): Promise<WatchdogRow['state'] | null> {
    return this.#whileSame(seen, (tx, agent) => recordEvents(this.#deps, tx, agent, [event]))
  }

  #whileSame<Result>(seen: AgentRow, change: (tx: Tx, agent: AgentRow) => Result): Promise<Result | null> {
    return write(this.#deps.db, (tx) => {
      const agent = findAgentRow(tx, seen.id)
      const isSame = agent?.status === seen.status && agent.startedAt?.getTime() === seen.startedAt?.getTime()
      return isSame ? change(tx, agent) : null
    })
  }

  #now(): number {
    return this.#deps.steady.now().getTime()
  }
}

function byTimeOfFailure(a: Watched, b: Watched): number {
  return (a.watchdog?.since ?? 0) - (b.watchdog?.since ?? 0)
}

const jobKeys = prepareOnce((db) => db.select({ key: jobs.key }).from(jobs).where(isNotNull(jobs.key)).prepare())

/** Agents that should run, and those whose stop or sleep is not recorded yet. */
const watchedAgents = prepareOnce((db) => {
  const stateAtRest = sql`CASE ${agents.status} WHEN 'sleeping' THEN 'sleeping' ELSE 'stopped' END`
  return db
    .select({ agent: agents, watchdog: watchdogs })
    .from(agents)
    .leftJoin(watchdogs, eq(watchdogs.agentId, agents.id))
    .where(and(isRunHere, or(eq(agents.status, 'running'), ne(watchdogs.state, stateAtRest))))
    .prepare()
})

/** Fewer agents may fail together by chance. */
const MIN_FAILING = 3

/**
 * Returns whether most agents fail together, which points to the host: repairing single agents would not help. Notifies
 * operators once when that begins.
 */
async function findHostFault(deps: RecordDeps & { db: Db }): Promise<boolean> {
  const { failing, watched } = countFailing(deps.db)
  const isFault = failing >= MIN_FAILING && failing * 2 > watched
  const known = openHostFault(deps.db).get()
  if (isFault === (known !== undefined)) return isFault
  const now = deps.clock.now()
  await write(deps.db, (tx) => {
    if (known) return void tx.update(hostFaults).set({ endedAt: now }).where(eq(hostFaults.id, known.id)).run()
    const id = newId('flt')
    tx.insert(hostFaults).values({ id, failing, watched, startedAt: now }).run()
    deps.notify(tx, describeHostFault(id, { failing, watched }, now))
  })
  return isFault
}

function describeHostFault(id: string, { failing, watched }: ReturnType<typeof countFailing>, now: Date) {
  return {
    id,
    kind: 'host_fault' as const,
    at: now.toISOString(),
    agent: null,
    status: `${failing} of ${watched} agents fail together: no agent is repaired until most of them answer again`,
    attempt: 0,
    exitCode: null,
    outOfMemory: false,
  }
}

const openHostFault = prepareOnce((db) =>
  db.select({ id: hostFaults.id }).from(hostFaults).where(isNull(hostFaults.endedAt)).prepare(),
)

const runningByState = prepareOnce((db) =>
  db
    .select({ state: watchdogs.state, agents: count() })
    .from(watchdogs)
    .innerJoin(agents, eq(agents.id, watchdogs.agentId))
    .where(eq(agents.status, 'running'))
    .groupBy(watchdogs.state)
    .prepare(),
)

function countFailing(db: Db): { failing: number; watched: number } {
  const rows = runningByState(db).all()
  const sum = (states: readonly string[]) =>
    rows.filter(({ state }) => states.includes(state)).reduce((total, row) => total + row.agents, 0)
  return { failing: sum(['degraded', 'repairing']), watched: sum(['starting', 'running', 'degraded', 'repairing']) }
}
