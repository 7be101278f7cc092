import { and, count, desc, eq, gt, inArray, isNotNull, lt, max, sql } from 'drizzle-orm'
import type { RuntimeStats } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { addDays } from '../../../core/clock.ts'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { AppError } from '../../../core/errors.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { toPercent } from './format.ts'
import { agentMetricHours, agentMetrics, platformHours } from './tables.ts'

/** Concurrent measurements: an engine takes a second or two for each. */
const ASKED_AT_ONCE = 10
/** Agents per transaction. */
const STORED_AT_ONCE = 25
const HOUR_MS = 3_600_000
const SAMPLE_DAYS = 1
const HOUR_DAYS = 35
/** Samples come every minute. A longer gap counts as downtime of the platform. */
const SILENCE_MS = 150_000

/** `stats` is null for an agent that should run but does not. */
type Sample = { agentId: string; stats: RuntimeStats | null }
type Counts = { messages: number; errors: number }

/**
 * Measures every agent that should run and stores the result with the messages since the previous sample.
 * An agent whose engine does not answer counts neither as up nor as down.
 */
export async function sampleAgents(
  deps: Base & { runtimes: Pick<Runtimes, 'runtimeOf'> },
  signal?: AbortSignal,
): Promise<void> {
  const shouldRun = and(inArray(agents.status, ['running', 'error', 'unknown']), isNotNull(agents.port))
  const asked = deps.db.select({ id: agents.id, runtime: agents.runtime }).from(agents).where(shouldRun).all()
  const samples: Sample[] = []
  for (let start = 0; start < asked.length; start += ASKED_AT_ONCE) {
    const some = asked.slice(start, start + ASKED_AT_ONCE).map((agent) => measure(deps.runtimes, agent))
    for (const sample of await Promise.all(some)) if (sample) samples.push(sample)
  }
  await storeSamples(deps.db, samples, deps.clock.now())
  await forgetSamples(deps.db, deps.clock.now(), signal)
}

async function measure(
  runtimes: Pick<Runtimes, 'runtimeOf'>,
  agent: Pick<AgentRow, 'id' | 'runtime'>,
): Promise<Sample | null> {
  const agentId = agent.id
  try {
    return { agentId, stats: await runtimes.runtimeOf(agent).stats(agentId) }
  } catch (error) {
    const isDown = error instanceof AppError && (error.kind === 'conflict' || error.kind === 'not_found')
    return isDown ? { agentId, stats: null } : null
  }
}

/** Stores message counts and platform uptime in one transaction, then the samples in batches. */
async function storeSamples(db: Db, samples: Sample[], now: Date): Promise<void> {
  const counts = await write(db, (tx) => countSince(tx, now))
  for (let start = 0; start < samples.length; start += STORED_AT_ONCE) {
    await spareTurn()
    await write(db, (tx) => {
      for (const sample of samples.slice(start, start + STORED_AT_ONCE)) {
        const isKnown = tx.select({ id: agents.id }).from(agents).where(eq(agents.id, sample.agentId)).get()
        if (isKnown) addSample(tx, sample, counts.get(sample.agentId) ?? NOTHING, now)
      }
    })
  }
}

async function forgetSamples(db: Db, now: Date, signal: AbortSignal | undefined): Promise<void> {
  await deleteInBatches(db, agentMetrics, lt(agentMetrics.sampledAt, addDays(now, -SAMPLE_DAYS)), signal)
  await deleteInBatches(db, agentMetricHours, lt(agentMetricHours.hour, addDays(now, -HOUR_DAYS)), signal)
  await deleteInBatches(db, platformHours, lt(platformHours.hour, addDays(now, -HOUR_DAYS)), signal)
}

/** Adds the messages since the previous sample to their hours and stores the last counted message. */
function countSince(tx: Tx, now: Date): Map<string, Counts> {
  const mark = tx.select().from(platformHours).orderBy(desc(platformHours.hour)).limit(1).get()
  const newest =
    tx
      .select({ sequence: max(messages.sequence) })
      .from(messages)
      .get()?.sequence ?? 0
  const counts = countMessages(tx, mark?.messageSequence ?? newest)
  for (const [agentId, counted] of counts) addToHour(tx, agentId, counted, now)
  addUptime(tx, mark?.lastAt ?? null, newest, now)
  return counts
}

const NOTHING: Counts = { messages: 0, errors: 0 }

function countMessages(tx: Tx, after: number): Map<string, Counts> {
  const errors = sql<number>`sum(${messages.status} = 'failed')`
  const rows = tx
    .select({ agentId: messages.agentId, messages: count(), errors })
    .from(messages)
    .where(gt(messages.sequence, after))
    .groupBy(messages.agentId)
    .all()
  return new Map(rows.map(({ agentId, ...counts }) => [agentId, counts]))
}

function addSample(tx: Tx, { agentId, stats }: Sample, counts: Counts, now: Date): void {
  if (!stats) {
    addToHour(tx, agentId, { ...NOTHING, samples: 1 }, now)
    return
  }
  const { cpuPercent, memoryBytes, memoryLimitBytes } = stats
  tx.insert(agentMetrics)
    .values({ agentId, sampledAt: now, cpuPercent, memoryBytes, memoryLimitBytes, ...counts })
    .onConflictDoNothing()
    .run()
  const memoryPercentSum = toPercent(memoryBytes, memoryLimitBytes)
  addToHour(tx, agentId, { ...NOTHING, samples: 1, measured: 1, cpuPercentSum: cpuPercent, memoryPercentSum }, now)
}

type Added = Counts & Partial<Record<'samples' | 'measured' | 'cpuPercentSum' | 'memoryPercentSum', number>>

function addToHour(tx: Tx, agentId: string, added: Added, now: Date): void {
  const all = { samples: 0, measured: 0, cpuPercentSum: 0, memoryPercentSum: 0, ...added }
  const hours = agentMetricHours
  tx.insert(hours)
    .values({ agentId, hour: hourOf(now), ...all })
    .onConflictDoUpdate({
      target: [hours.agentId, hours.hour],
      set: {
        samples: sql`${hours.samples} + ${all.samples}`,
        measured: sql`${hours.measured} + ${all.measured}`,
        cpuPercentSum: sql`${hours.cpuPercentSum} + ${all.cpuPercentSum}`,
        memoryPercentSum: sql`${hours.memoryPercentSum} + ${all.memoryPercentSum}`,
        messages: sql`${hours.messages} + ${all.messages}`,
        errors: sql`${hours.errors} + ${all.errors}`,
      },
    })
    .run()
}

/** Counts the time since the previous sample as uptime unless the gap is too long. */
function addUptime(tx: Tx, lastAt: Date | null, messageSequence: number, now: Date): void {
  const elapsedMs = lastAt ? Math.max(0, now.getTime() - lastAt.getTime()) : 0
  const upMs = elapsedMs <= SILENCE_MS ? elapsedMs : 0
  tx.insert(platformHours)
    .values({ hour: hourOf(now), firstAt: now, lastAt: now, upMs, messageSequence })
    .onConflictDoUpdate({
      target: platformHours.hour,
      set: { lastAt: now, upMs: sql`${platformHours.upMs} + ${upMs}`, messageSequence },
    })
    .run()
}

/** Returns the start of the hour (UTC). */
export function hourOf(time: Date): Date {
  return new Date(Math.floor(time.getTime() / HOUR_MS) * HOUR_MS)
}

const SAMPLE_MS = 60_000

export function sampleJob(deps: Base & { runtimes: Pick<Runtimes, 'runtimeOf'> }): RepeatingJob {
  return { name: 'metrics.sample', everyMs: SAMPLE_MS, run: (signal) => sampleAgents(deps, signal) }
}
