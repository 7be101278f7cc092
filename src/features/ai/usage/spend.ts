import type { Clock } from '../../../core/clock.ts'
import { newOrderedId } from '../../../core/ids.ts'
import type { Estimate, Quota, Spender } from './quota.ts'
import type { Timed, UsageEvent } from './recording/event.ts'
import type { UsageRecorder } from './recording/record.ts'
import type { UnderWayFile } from './recording/under-way.ts'

/** What is about to be spent: for whom, by which agent and route, and how much at most. */
export type SpendingOrder = { spender: Spender; agentId: string; endpoint: string; estimate: Estimate }

/** What was spent in the end, and on what. */
export type Bill = Pick<
  UsageEvent,
  | 'model'
  | 'provider'
  | 'attempts'
  | 'isOwnKey'
  | 'inputTokens'
  | 'outputTokens'
  | 'costMicroUsd'
  | 'isEstimated'
  | 'errorMessage'
>

/**
 * Money or tokens under way. The first `book`, `bookLater` or `cancel` ends it; what was set aside is held until then.
 * `isTight`: the call must not use more than was estimated.
 */
export type Spending = {
  generationId: string
  isTight: boolean
  book(bill: Bill): void
  /** For a bill that has to be counted first, which holds up nobody. */
  bookLater(bill: Promise<Bill>): void
  /** Nothing was spent. */
  cancel(): void
}

/**
 * What a call is booked as that nothing else has ended: `count` when the program stops, `reserve`, which is all that was
 * set aside, when it was killed and the next one finds the call noted.
 */
export type LastBill = { count(): Promise<Bill>; reserve(): Bill }

export type Spendings = {
  /**
   * Sets aside what a call may use: whatever costs money begins here.
   * @throws AppError `limited` when a limit of the spender does not allow it.
   */
  begin(order: SpendingOrder, last: LastBill): Spending
  /** Notes on disk what is under way, for the case that the program is killed; a call that is noted once stays so. */
  noteUnderWay(): Promise<void>
  /** Books whatever is still under way, and waits until everything is recorded. Nothing is to begin afterwards. */
  endAll(): Promise<void>
}

/** So many lines of calls that have ended may stay in the file. */
const MAX_ENDED_LINES = 1000

type UnderWay = { end(): void; toLine(): Timed; isNoted: boolean }

/** The one account of everything that costs money: set aside, spent, booked once. */
export function createSpendings(deps: {
  quota: Quota
  usage: UsageRecorder
  underWayFile: UnderWayFile
  clock: Clock
}): Spendings {
  const underWay = new Map<string, UnderWay>()
  /** A noted call has cost nothing after all, or nobody knows what stands in the file. */
  let hasFalseLine = false
  let lines = 0

  return {
    begin({ spender, agentId, endpoint, estimate }, last) {
      const reservation = deps.quota.reserve(spender, estimate)
      const generationId = newOrderedId('gen')
      const startedAt = performance.now()
      const isFirstEnd = () => underWay.delete(generationId)
      const readLatency = () => Math.round(performance.now() - startedAt)
      const toEvent = (bill: Bill, latencyMs: number): UsageEvent => {
        const { userId, key } = spender
        return { generationId, userId, agentId, keyId: key?.id ?? null, endpoint, latencyMs, ...bill }
      }
      // In one turn, so that nobody sees the money free that is spent.
      const record = (bill: Bill, latencyMs: number) => {
        reservation.release()
        deps.usage.record(toEvent(bill, latencyMs))
      }

      const spending: Spending = {
        generationId,
        isTight: reservation.isTight,
        book(bill) {
          if (isFirstEnd()) record(bill, readLatency())
        },
        bookLater(bill) {
          if (!isFirstEnd()) return
          const latencyMs = readLatency()
          deps.usage.expect(bill.then((counted) => record(counted, latencyMs)))
        },
        cancel() {
          hasFalseLine ||= underWay.get(generationId)?.isNoted ?? false
          if (isFirstEnd()) reservation.release()
        },
      }
      underWay.set(generationId, {
        end: () => spending.bookLater(last.count()),
        toLine: () => ({ ...toEvent(last.reserve(), readLatency()), at: deps.clock.now() }),
        isNoted: false,
      })
      return spending
    },
    async noteUnderWay() {
      const calls = [...underWay.values()]
      const mustReplace = hasFalseLine || lines > MAX_ENDED_LINES + 2 * calls.length || calls.length === 0
      const fresh = mustReplace ? calls : calls.filter(({ isNoted }) => !isNoted)
      for (const call of fresh) call.isNoted = true
      hasFalseLine = false
      lines = fresh.length + (mustReplace ? 0 : lines)
      const events = fresh.map(({ toLine }) => toLine())
      try {
        await (mustReplace ? deps.underWayFile.replace(events) : deps.underWayFile.add(events))
      } catch (error) {
        hasFalseLine = true
        throw error
      }
    },
    async endAll() {
      for (const { end } of [...underWay.values()]) end()
      await deps.usage.settle()
      await deps.underWayFile.replace([])
    },
  }
}
