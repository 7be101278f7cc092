import { sql } from 'drizzle-orm'
import { type Clock, toDay, toMonth } from '../../core/clock.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { type MicroUsd, toUsd } from '../../core/money.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { MonthlyTokens } from './monthly-tokens.ts'
import { addedDaySums, addedMonthSums, usageDays, usageMonths } from './tables.ts'

/** One completion, successful or not. `endpoint` is the route that produced it. */
export type UsageEvent = {
  userId: string
  agentId: string
  model: string
  inputTokens: number
  outputTokens: number
  costMicroUsd: MicroUsd
  endpoint: string
  latencyMs: number
  errorMessage: string | null
}

export type UsageRecorder = {
  /** Returns at once and never throws: recording must not hold up or fail the answer it describes (Spec 2). */
  record(event: UsageEvent): void
  /** Waits for what was recorded so far; for shutdown and tests. */
  flush(): Promise<void>
}

/** How long events wait for others: under load, one transaction then carries hundreds of them. */
const GATHER_MS = 20

type Timed = UsageEvent & { at: Date }

/**
 * Writes each event with its daily and monthly sums in one closure, and the log lines of Spec 4.10. Events that come
 * within 20 ms share the closure, and those of the same user, day, agent and model share their sums.
 */
export function createUsageRecorder(deps: {
  db: Db
  clock: Clock
  log: Log
  monthlyTokens: MonthlyTokens
}): UsageRecorder {
  const underWay = new Set<Promise<void>>()
  const waiting: Timed[] = []
  let timer: Timer | undefined
  let statements: ReturnType<typeof prepareStatements> | undefined

  const save = (events: Timed[]) =>
    write(deps.db, (tx) => {
      statements ??= prepareStatements(tx)
      insertLogs(tx, events)
      for (const day of sumDays(events)) statements.day.run(day)
      for (const month of sumMonths(events)) statements.month.run(month)
    })

  const saveWaiting = () => {
    clearTimeout(timer)
    timer = undefined
    const events = waiting.splice(0)
    if (events.length === 0) return
    const work = save(events)
      .catch((error) => deps.log.error(`[UsageLogger] Failed to log usage: ${errorMessage(error)}`))
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }

  return {
    record(event) {
      const { agentId, model, inputTokens, outputTokens } = event
      deps.log.info(
        `[UsageLogger] Logging: ${agentId} | ${model} | ${inputTokens}+${outputTokens} tokens | $${toUsd(event.costMicroUsd).toFixed(6)}`,
      )
      deps.monthlyTokens.add(event.userId, inputTokens + outputTokens)
      waiting.push({ ...event, at: deps.clock.now() })
      timer ??= setTimeout(saveWaiting, GATHER_MS)
    },
    async flush() {
      saveWaiting()
      await Promise.all(underWay)
    },
  }
}

/** All rows with one statement: as JSON a row costs a fifth of what it costs as parameters. */
function insertLogs(tx: Tx, events: Timed[]): void {
  const rows = events.map((event) => [
    event.userId,
    event.agentId,
    event.model,
    event.inputTokens,
    event.outputTokens,
    event.costMicroUsd,
    event.endpoint,
    event.latencyMs,
    event.errorMessage === null ? 1 : 0,
    event.errorMessage,
    event.at.getTime(),
  ])
  tx.run(sql`
    INSERT INTO usage_logs (user_id, agent_id, model, input_tokens, output_tokens, cost_micro_usd, endpoint,
      latency_ms, success, error_message, created_at)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
      value ->> 7, value ->> 8, value ->> 9, value ->> 10
    FROM json_each(${JSON.stringify(rows)})`)
}

/** One row for each user, day, agent and model. */
function sumDays(events: Timed[]) {
  const sums = new Map<string, ReturnType<typeof toDayRow>>()
  for (const event of events) {
    const row = toDayRow(event)
    const key = [row.day, row.userId, row.agentId, row.model].join('\n')
    const sum = sums.get(key)
    if (sum === undefined) {
      sums.set(key, row)
      continue
    }
    sum.inputTokens += row.inputTokens
    sum.outputTokens += row.outputTokens
    sum.costMicroUsd += row.costMicroUsd
    sum.calls += 1
  }
  return sums.values()
}

function toDayRow({ at, userId, agentId, model, inputTokens, outputTokens, costMicroUsd }: Timed) {
  return { day: toDay(at), userId, agentId, model, inputTokens, outputTokens, costMicroUsd, calls: 1 }
}

/** One row for each user and month. */
function sumMonths(events: Timed[]) {
  const sums = new Map<string, { month: string; userId: string; tokens: number }>()
  for (const { at, userId, inputTokens, outputTokens } of events) {
    const month = toMonth(at)
    const key = `${month}\n${userId}`
    const tokens = (sums.get(key)?.tokens ?? 0) + inputTokens + outputTokens
    sums.set(key, { month, userId, tokens })
  }
  return sums.values()
}

/** Prepared with the first completion and kept. */
function prepareStatements(tx: Tx) {
  const value = sql.placeholder
  return {
    day: tx
      .insert(usageDays)
      .values({
        userId: value('userId'),
        day: value('day'),
        agentId: value('agentId'),
        model: value('model'),
        inputTokens: value('inputTokens'),
        outputTokens: value('outputTokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
      })
      .onConflictDoUpdate({
        target: [usageDays.userId, usageDays.day, usageDays.agentId, usageDays.model],
        set: addedDaySums,
      })
      .prepare(),
    month: tx
      .insert(usageMonths)
      .values({ userId: value('userId'), month: value('month'), tokens: value('tokens') })
      .onConflictDoUpdate({
        target: [usageMonths.userId, usageMonths.month],
        set: addedMonthSums,
      })
      .prepare(),
  }
}
