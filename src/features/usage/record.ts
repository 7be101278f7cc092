import { sql } from 'drizzle-orm'
import { type Clock, toDay, toMonth } from '../../core/clock.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { type MicroUsd, toUsd } from '../../core/money.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { usageDays, usageLogs, usageMonths } from './tables.ts'

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

/** Writes each event with its daily and monthly sums in one closure, and the log lines of Spec 4.10. */
export function createUsageRecorder(deps: { db: Db; clock: Clock; log: Log }): UsageRecorder {
  const pending = new Set<Promise<void>>()
  let statements: ReturnType<typeof prepareStatements> | undefined

  const save = async (event: UsageEvent) => {
    const now = deps.clock.now()
    const values = {
      ...event,
      success: event.errorMessage === null ? 1 : 0,
      createdAt: now.getTime(),
      day: toDay(now),
      month: toMonth(now),
    }
    await write(deps.db, (tx) => {
      statements ??= prepareStatements(tx)
      statements.log.run(values)
      statements.day.run(values)
      statements.month.run({ ...values, tokens: event.inputTokens + event.outputTokens })
    })
  }

  return {
    record(event) {
      const { agentId, model, inputTokens, outputTokens } = event
      deps.log.info(
        `[UsageLogger] Logging: ${agentId} | ${model} | ${inputTokens}+${outputTokens} tokens | $${toUsd(event.costMicroUsd).toFixed(6)}`,
      )
      const work = save(event)
        .catch((error) => deps.log.error(`[UsageLogger] Failed to log usage: ${errorMessage(error)}`))
        .finally(() => pending.delete(work))
      pending.add(work)
    },
    async flush() {
      await Promise.all(pending)
    },
  }
}

/** Every completion runs these: they are prepared with the first one. */
function prepareStatements(tx: Tx) {
  const value = sql.placeholder
  return {
    log: tx
      .insert(usageLogs)
      .values({
        userId: value('userId'),
        agentId: value('agentId'),
        model: value('model'),
        inputTokens: value('inputTokens'),
        outputTokens: value('outputTokens'),
        costMicroUsd: value('costMicroUsd'),
        endpoint: value('endpoint'),
        latencyMs: value('latencyMs'),
        success: sql`${value('success')}`,
        errorMessage: value('errorMessage'),
        createdAt: sql`${value('createdAt')}`,
      })
      .prepare(),
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
        calls: 1,
      })
      .onConflictDoUpdate({
        target: [usageDays.userId, usageDays.day, usageDays.agentId, usageDays.model],
        set: {
          inputTokens: sql`${usageDays.inputTokens} + excluded.input_tokens`,
          outputTokens: sql`${usageDays.outputTokens} + excluded.output_tokens`,
          costMicroUsd: sql`${usageDays.costMicroUsd} + excluded.cost_micro_usd`,
          calls: sql`${usageDays.calls} + 1`,
        },
      })
      .prepare(),
    month: tx
      .insert(usageMonths)
      .values({ userId: value('userId'), month: value('month'), tokens: value('tokens') })
      .onConflictDoUpdate({
        target: [usageMonths.userId, usageMonths.month],
        set: { tokens: sql`${usageMonths.tokens} + excluded.tokens` },
      })
      .prepare(),
  }
}
