import { newOrderedId } from '../../core/ids.ts'
import type { UsageEvent } from './event.ts'
import type { Estimate, Quota, Spender } from './quota.ts'
import type { UsageRecorder } from './record.ts'

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

export type Spendings = {
  /**
   * Sets aside what a call may use: whatever costs money begins here. `toLastBill` says what is booked when the program
   * stops before anything else has ended the call.
   * @throws AppError `limited` when a limit of the spender does not allow it.
   */
  begin(order: SpendingOrder, toLastBill: () => Promise<Bill>): Spending
  /** Books whatever is still under way, and waits until everything is recorded. Nothing is to begin afterwards. */
  endAll(): Promise<void>
}

/** The one account of everything that costs money: set aside, spent, booked once. */
export function createSpendings(deps: { quota: Quota; usage: UsageRecorder }): Spendings {
  const underWay = new Map<string, () => void>()

  return {
    begin({ spender, agentId, endpoint, estimate }, toLastBill) {
      const reservation = deps.quota.reserve(spender, estimate)
      const generationId = newOrderedId('gen')
      const startedAt = performance.now()
      const isFirstEnd = () => underWay.delete(generationId)
      const readLatency = () => Math.round(performance.now() - startedAt)
      // In one turn, so that nobody sees the money free that is spent.
      const record = (bill: Bill, latencyMs: number) => {
        reservation.release()
        const { userId, key } = spender
        deps.usage.record({ generationId, userId, agentId, keyId: key?.id ?? null, endpoint, latencyMs, ...bill })
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
          if (isFirstEnd()) reservation.release()
        },
      }
      underWay.set(generationId, () => spending.bookLater(toLastBill()))
      return spending
    },
    async endAll() {
      for (const end of [...underWay.values()]) end()
      await deps.usage.settle()
    },
  }
}
