import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { toUsd } from '../../../core/money.ts'
import { currentRequestId } from '../../../core/request-id.ts'
import { type RunningSums, toEndUserId } from './quota.ts'
import type { Timed, UsageEvent } from './rows/event.ts'
import type { UsageSpool } from './spool.ts'
import type { UsageWriter } from './writer.ts'

export type UsageRecorder = {
  /** Returns at once and never throws, so that recording cannot delay or fail an answer. `at` defaults to now. */
  record(event: UsageEvent & Partial<Timed>): void
  /** Waits until all recorded events are written. */
  flush(): Promise<void>
  /** Registers work that will record an event; its failure is logged. */
  expect(work: Promise<void>): void
  /** As `flush`, after all registered work. */
  settle(): Promise<void>
}

/** Events wait this long, so that under load one transaction writes hundreds of them. */
const GATHER_MS = 250

/** Logs each event and writes it with its daily and monthly sums, all events of 250 ms in one transaction. Failed writes are spooled. */
export function createUsageRecorder(deps: {
  writer: UsageWriter
  spool: Pick<UsageSpool, 'add'>
  clock: Clock
  log: Log
  userSums: RunningSums
  keySums: RunningSums
  endUserSums: RunningSums
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

  /** A sum that cannot be read now is read at its next use. */
  const count = ({ at, userId, agentId, keyId, endUser, isOwnKey, inputTokens, outputTokens, costMicroUsd }: Timed) => {
    const sums = { tokens: inputTokens + outputTokens, costMicroUsd: costMicroUsd ?? 0 }
    try {
      if (!isOwnKey) deps.userSums.add(userId, at, sums)
      deps.daySums.add(userId, at, sums)
      deps.agentSums.add(agentId, at, sums)
      if (keyId) {
        deps.keySums.add(keyId, at, sums)
        deps.endUserSums.add(toEndUserId(userId, keyId, endUser), at, sums)
      }
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
      deps.log.info({ requestId: currentRequestId() }, `[UsageLogger] Logging: ${describe(event)}`)
      const timed = isTimed(event) ? event : { ...event, at: deps.clock.now() }
      count(timed)
      waiting.push(timed)
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

function isTimed(event: UsageEvent & Partial<Timed>): event is Timed {
  return event.at !== undefined
}

function describe({ agentId, model, inputTokens, outputTokens, costMicroUsd }: UsageEvent): string {
  const cost = costMicroUsd === null ? 'unknown' : toUsd(costMicroUsd).toFixed(6)
  return `${agentId} | ${model} | ${inputTokens}+${outputTokens} tokens | $${cost}`
}
