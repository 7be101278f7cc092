import type { Clock } from '../../../../core/clock.ts'
import { errorMessage } from '../../../../core/errors.ts'
import type { Log } from '../../../../core/log.ts'
import { toUsd } from '../../../../core/money.ts'
import { currentRequestId } from '../../../../core/request-id.ts'
import type { RunningSums } from '../running-sums.ts'
import type { Timed, UsageEvent } from './event.ts'
import type { UsageWriter } from './save.ts'
import type { UsageSpool } from './spool.ts'

export type UsageRecorder = {
  /** Returns at once and never throws: recording must not hold up or fail the answer it describes (Interface 2). */
  record(event: UsageEvent): void
  /** Waits until what was recorded so far is written. */
  flush(): Promise<void>
  /** Takes notice of work that ends with a record; its failure is told in the log. */
  expect(work: Promise<void>): void
  /** As `flush`, for what is expected as well; for shutdown and tests. */
  settle(): Promise<void>
}

/** How long events wait for others: under load, one transaction then carries hundreds of them. */
const GATHER_MS = 250

/**
 * Writes each event with its daily and monthly sums in one closure, and the log lines of Interface 4.10. Events that come
 * within 250 ms share the closure, and those of the same user, day, agent, model and provider share their sums. What
 * cannot be written now is spooled.
 */
export function createUsageRecorder(deps: {
  writer: UsageWriter
  spool: Pick<UsageSpool, 'add'>
  clock: Clock
  log: Log
  userSums: RunningSums
  keySums: RunningSums
  daySums: RunningSums
  agentSums: RunningSums
}): UsageRecorder {
  const underWay = new Set<Promise<void>>()
  const expected = new Set<Promise<void>>()
  const waiting: Timed[] = []
  let timer: Timer | undefined

  const save = async (events: Timed[]) => {
    try {
      await deps.writer.save(events)
    } catch (error) {
      deps.log.error(`[UsageLogger] Failed to log usage: ${errorMessage(error)}`)
      await deps.spool.add(events)
    }
  }
  const saveWaiting = () => {
    clearTimeout(timer)
    timer = undefined
    const events = waiting.splice(0)
    if (events.length === 0) return
    const work = save(events).finally(() => underWay.delete(work))
    underWay.add(work)
  }

  /** Sums that cannot be read now are read when somebody asks, and hold what is written by then. */
  const count = (
    { userId, agentId, keyId, isOwnKey, inputTokens, outputTokens, costMicroUsd }: UsageEvent,
    at: Date,
  ) => {
    const sums = { tokens: inputTokens + outputTokens, costMicroUsd: costMicroUsd ?? 0 }
    try {
      if (!isOwnKey) deps.userSums.add(userId, at, sums)
      deps.daySums.add(userId, at, sums)
      deps.agentSums.add(agentId, at, sums)
      if (keyId) deps.keySums.add(keyId, at, sums)
    } catch (error) {
      deps.log.error(`[UsageLogger] Failed to count usage: ${errorMessage(error)}`)
    }
  }

  const flush = async () => {
    saveWaiting()
    await Promise.all(underWay)
  }

  return {
    record(event) {
      const { agentId, model, inputTokens, outputTokens, costMicroUsd } = event
      deps.log.info(
        { requestId: currentRequestId() },
        `[UsageLogger] Logging: ${agentId} | ${model} | ${inputTokens}+${outputTokens} tokens | $${costMicroUsd === null ? 'unknown' : toUsd(costMicroUsd).toFixed(6)}`,
      )
      const at = deps.clock.now()
      count(event, at)
      waiting.push({ ...event, at })
      timer ??= setTimeout(saveWaiting, GATHER_MS)
    },
    flush,
    expect(work) {
      const noticed = work
        .catch((error) => deps.log.error(`[UsageLogger] Failed to log usage: ${errorMessage(error)}`))
        .finally(() => expected.delete(noticed))
      expected.add(noticed)
    },
    async settle() {
      while (expected.size > 0) await Promise.all(expected)
      await flush()
    },
  }
}
