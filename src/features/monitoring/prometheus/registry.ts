import { readdirSync, statSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { toWholeSecond } from '../../../core/concurrency/timing.ts'
import { type MicroUsd, toUsd } from '../../../core/money.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db } from '../../../db/open.ts'
import type { ApiName } from '../../../http/env.ts'
import { createRequestFigures, type NoteRequest } from '../../../http/request-figures.ts'
import type { EgressCounts } from '../../agents/egress/enforce.ts'
import { readStateCounts } from '../metrics/queries.ts'

/** Open requests and WebSockets of a listener. */
export type UnderWay = { requests: number; webSockets: number }

const NOTHING: UnderWay = { requests: 0, webSockets: 0 }
export const NOTHING_UNDER_WAY: Record<ApiName, UnderWay> = { web: NOTHING, backend: NOTHING, summarizer: NOTHING }

export type ExpositionDeps = {
  db: Db
  /** Connections of agents since the start, by result. */
  egressCounts: Readonly<EgressCounts>
  /** Sizes of the database and its write-ahead log; null for an in-memory database. */
  measureDatabase: () => { bytes: number; logBytes: number } | null
  /** Free bytes of the fullest disk that the platform writes to. */
  measureFreeDisk: () => Promise<number>
  countUnderWay: () => Record<ApiName, UnderWay>
  countTurns: () => number
  /** Returns the state of the cluster that this node knows; null on a single node. */
  measureCluster: () => ClusterFigures | null
}

/** `position`: the last log entry that this node's file contains; `lag`: entries of the log that it lacks. */
export type ClusterFigures = {
  isLeader: boolean
  position: number
  lag: number
  comparisons: { equal: number; different: number }
}

/** The platform's metrics in the Prometheus text format. */
export type Exposition = {
  contentType: string
  /** @throws Error when the database or the disk cannot be read. */
  write(): Promise<string>
  noteRequest: NoteRequest
  close(): void
}

export function openExposition(deps: ExpositionDeps): Exposition {
  const registry = new Registry()
  const refreshAll = [
    registerTotals(registry, deps.db),
    registerEgress(registry, deps.egressCounts),
    registerSpace(registry, deps),
    registerWork(registry, deps),
    registerCluster(registry, deps),
    registerProcess(registry),
  ]
  const noteRequest = createRequestFigures(registry)
  const close = watchLoopLag(registry)
  const build = { name: 'stead_build_info', help: 'Always 1; the labels say what runs.', registers: [registry] }
  new Gauge({ ...build, labelNames: ['version', 'bun'] }).set({ version: VERSION, bun: Bun.version }, 1)
  return {
    contentType: registry.contentType,
    noteRequest,
    close,
    async write() {
      await Promise.all(refreshAll.map((refresh) => refresh()))
      return registry.metrics()
    },
  }
}

/** Registers the connections of agents through the egress proxy and the platform. */
function registerEgress(registry: Registry, counts: Readonly<EgressCounts>) {
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const allowed = counter('stead_egress_allowed_total', 'Connections of agents that their egress policy allowed.')
  const blocked = counter('stead_egress_blocked_total', 'Connections of agents that were refused, by reason.', [
    'reason',
  ])
  return () => {
    const { allowed: passed, ...refused } = counts
    allowed.reset()
    allowed.inc(passed)
    blocked.reset()
    for (const [reason, count] of Object.entries(refused)) blocked.inc({ reason }, count)
  }
}

function registerSpace(registry: Registry, { measureDatabase, measureFreeDisk }: ExpositionDeps) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  const database = gauge('stead_database_bytes', 'Size of the database file.')
  const log = gauge('stead_database_log_bytes', 'Size of the write-ahead log of the database.')
  const free = gauge('stead_disk_free_bytes', 'Free space on the fullest disk that is written to.')
  return async () => {
    const measured = measureDatabase()
    database.set(measured?.bytes ?? 0)
    log.set(measured?.logBytes ?? 0)
    free.set(await measureFreeDisk())
  }
}

/** A single node has no such metrics. */
function registerCluster(registry: Registry, { measureCluster }: ExpositionDeps) {
  if (!measureCluster()) return () => undefined
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  const leader = gauge('stead_cluster_leader', '1 on the node that writes, 0 on the others.')
  const position = gauge('stead_cluster_position', 'The last entry of the log that this node has applied.')
  const lag = gauge('stead_cluster_lag', 'Entries of the log that this node has not applied.')
  const comparisons = new Gauge({
    name: 'stead_cluster_comparisons_total',
    help: 'Comparisons of all tables with the leader since the start, by result.',
    labelNames: ['result'],
    registers: [registry],
  })
  return () => {
    const measured = measureCluster()
    leader.set(measured?.isLeader ? 1 : 0)
    position.set(measured?.position ?? 0)
    lag.set(measured?.lag ?? 0)
    comparisons.set({ result: 'equal' }, measured?.comparisons.equal ?? 0)
    comparisons.set({ result: 'different' }, measured?.comparisons.different ?? 0)
  }
}

function registerWork(registry: Registry, { countUnderWay, countTurns }: ExpositionDeps) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['port'], registers: [registry] })
  const requests = gauge('stead_requests_under_way', 'Requests and streams that are being answered, by port.')
  const webSockets = gauge('stead_websockets_open', 'Open WebSockets, by port.')
  const turns = new Gauge({
    name: 'stead_turns_under_way',
    help: 'Questions that agents are answering.',
    registers: [registry],
  })
  return () => {
    for (const [port, count] of Object.entries(countUnderWay())) {
      requests.set({ port }, count.requests)
      webSockets.set({ port }, count.webSockets)
    }
    turns.set(countTurns())
  }
}

/** Interval of the timer whose delay is measured. An idle process wakes up once a second for all its timers together. */
const EVERY_MS = 1000

/** Measures event loop lag: while one request blocks the loop, all others wait. @returns a function that stops it. */
function watchLoopLag(registry: Registry): () => void {
  const lag = new Histogram({
    name: 'stead_event_loop_lag_seconds',
    help: 'How late a timer was that is due every second.',
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers: [registry],
  })
  let timer: Timer | undefined
  const plan = () => {
    const waitMs = toWholeSecond(EVERY_MS)
    const dueAt = performance.now() + waitMs
    timer = setTimeout(() => {
      lag.observe(Math.max(0, performance.now() - dueAt) / 1000)
      plan()
    }, waitMs)
    timer.unref()
  }
  plan()
  return () => clearTimeout(timer)
}

/** Registers the standard process metrics. @returns a function that refreshes them. */
function registerProcess(registry: Registry): () => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  const memory = gauge('process_resident_memory_bytes', 'Resident memory size in bytes.')
  const files = gauge('process_open_fds', 'Number of open file descriptors.')
  gauge('process_start_time_seconds', 'Start time of the process since the epoch in seconds.').set(
    Math.round(performance.timeOrigin) / 1000,
  )
  const cpu = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
    registers: [registry],
  })
  return () => {
    memory.set(process.memoryUsage.rss())
    files.set(countOpenFiles())
    const { user, system } = process.cpuUsage()
    cpu.reset()
    cpu.inc((user + system) / 1e6)
  }
}

/** Returns 0 on systems without `/proc`. */
function countOpenFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}

/** Measures the sizes of a database file and its write-ahead log; null when the file does not exist. */
export function createDatabaseProbe(file: string): () => { bytes: number; logBytes: number } | null {
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size
  return () => {
    const bytes = sizeOf(file)
    return bytes === undefined ? null : { bytes, logBytes: sizeOf(`${file}-wal`) ?? 0 }
  }
}

type UsageTotal = {
  provider: string
  calls: number
  inputTokens: number
  outputTokens: number
  costMicroUsd: MicroUsd
}
type LedgerTotal = { kind: string; currency: string; millionths: number }

const MILLION = 1_000_000

function readUsageTotals(db: Db): UsageTotal[] {
  return db
    .select({
      provider: sql<string>`provider`,
      calls: sql<number>`calls`,
      inputTokens: sql<number>`input_tokens`,
      outputTokens: sql<number>`output_tokens`,
      costMicroUsd: sql<MicroUsd>`cost_micro_usd`,
    })
    .from(sql`usage_totals`)
    .all()
}

function readLedgerTotals(db: Db): LedgerTotal[] {
  return db
    .select({ kind: sql<string>`kind`, currency: sql<string>`currency`, millionths: sql<number>`balance` })
    .from(sql`ledger_totals`)
    .all()
}

/** Registers metrics that come from database totals. @returns a function that refreshes them. */
function registerTotals(registry: Registry, db: Db): () => void {
  const setStates = registerStates(registry)
  const setUsage = registerUsage(registry)
  const setLedger = registerLedger(registry)
  return () => {
    setStates('agents', readStateCounts(db, 'agents'))
    setStates('jobs', readStateCounts(db, 'jobs'))
    setUsage(readUsageTotals(db))
    setLedger(readLedgerTotals(db))
  }
}

function registerLedger(registry: Registry) {
  const balance = new Gauge({
    name: 'stead_ledger_balance',
    help: 'What the accounts of a kind add up to, in whole units of their currency.',
    labelNames: ['account', 'currency'],
    registers: [registry],
  })
  return (ledger: readonly LedgerTotal[]) => {
    for (const { kind, currency, millionths } of ledger) balance.set({ account: kind, currency }, millionths / MILLION)
  }
}

function registerStates(registry: Registry) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['state'], registers: [registry] })
  const gauges = {
    agents: gauge('stead_agents', 'Agents by state; down is one that should run and does not answer.'),
    jobs: gauge('stead_jobs', 'Durable work by state: queued waits, running is under way, dead was given up.'),
  }
  return (subject: keyof typeof gauges, counts: Record<string, number>) => {
    for (const [state, rows] of Object.entries(counts)) gauges[subject].set({ state }, rows)
  }
}

function registerUsage(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames: ['provider', ...labelNames], registers: [registry] })
  const calls = counter('stead_model_calls_total', 'Calls of models, ever, by provider.')
  const tokens = counter(
    'stead_model_tokens_total',
    'Tokens of models, ever: input was read, output written.',
    'direction',
  )
  const cost = counter('stead_model_cost_usd_total', 'Known cost of calls of models, ever, in US dollars.')
  return (usage: readonly UsageTotal[]) => {
    // The database holds the whole sum, so the previous value is replaced.
    for (const counted of [calls, tokens, cost]) counted.reset()
    for (const { provider, ...total } of usage) {
      calls.inc({ provider }, total.calls)
      tokens.inc({ provider, direction: 'input' }, total.inputTokens)
      tokens.inc({ provider, direction: 'output' }, total.outputTokens)
      cost.inc({ provider }, toUsd(total.costMicroUsd))
    }
  }
}
