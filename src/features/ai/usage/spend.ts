import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import { newOrderedId } from '../../../core/ids.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { findWriteRefusal, isLogged } from '../../../db/write.ts'
import type { Estimate, Quota, Spender } from './quota.ts'
import type { UsageRecorder } from './recorder.ts'
import type { Timed, UsageEvent } from './rows/event.ts'
import type { UnderWayCalls } from './running-calls/under-way.ts'

/** A call to account for: its payer, agent and route, the most that it may use, and the end user and tags that it names. */
export type SpendingOrder = { spender: Spender; agentId: string; endpoint: string; estimate: Estimate } & Partial<
  Pick<UsageEvent, 'endUser' | 'tags'>
>

/** The final usage and cost of a call. */
export type Bill = Pick<
  UsageEvent,
  | 'model'
  | 'provider'
  | 'attempts'
  | 'isOwnKey'
  | 'inputTokens'
  | 'cachedInputTokens'
  | 'cacheCreationTokens'
  | 'cacheCreationHourTokens'
  | 'outputTokens'
  | 'costMicroUsd'
  | 'isEstimated'
  | 'errorMessage'
> &
  Pick<UsageEvent, 'firstTokenMs' | 'priceSource' | 'finishReason' | 'callId' | 'trail' | 'listCostMicroUsd'>

/**
 * The account of one running call. The first `record`, `recordLater` or `cancel` ends it and releases the reservation.
 * `isTight`: the call must not use more than was estimated.
 */
export type Spending = {
  generationId: string
  isTight: boolean
  record(bill: Bill): void
  /** Records a bill whose tokens are still being counted. */
  recordLater(bill: Promise<Bill>): void
  /** Ends a call that cost nothing. */
  cancel(): void
}

/** The bill of an unfinished call: `count` at a regular stop, `reserve` (the full reservation) after a crash. */
export type LastBill = { count(): Promise<Bill>; reserve(): Bill }

export type Spendings = {
  /**
   * Reserves the estimate of a call. Everything that costs money starts here.
   * @throws AppError `limited` at a limit of the spender, `unavailable` in a cluster without its log.
   */
  begin(order: SpendingOrder, last: LastBill): Spending
  /** In a cluster, waits until the log contains what was recorded. @throws AppError `unavailable`; null on a single node. */
  confirm: (() => Promise<void>) | null
  /** Writes the running calls to disk, so that a crash does not make them free. */
  noteUnderWay(): Promise<void>
  /** Records all running calls and waits until they are written. No call may begin afterwards. */
  endAll(): Promise<void>
}

/** Lines of finished calls that may stay in the file. */
const MAX_ENDED_LINES = 1000

type UnderWay = { end(): void; toLine(): Timed; isNoted: boolean }

/** Accounts for everything that costs money: reserves, then records exactly once. */
export function createSpendings(deps: {
  quota: Quota
  usage: UsageRecorder
  underWay: UnderWayCalls
  log: Log
  clock: Clock
  db: Db
}): Spendings {
  const underWay = new Map<string, UnderWay>()
  /** The file lists a cancelled call, or its content is unknown after a failed write. */
  let hasFalseLine = false
  let lines = 0

  return {
    confirm: isLogged(deps.db) ? () => confirm(deps) : null,
    begin({ spender, agentId, endpoint, estimate, endUser = null, tags = null }, last) {
      requireWrites(deps.db)
      const reservation = deps.quota.reserve(spender, estimate, endUser)
      const generationId = newOrderedId('gen')
      const startedAt = performance.now()
      const isFirstEnd = () => underWay.delete(generationId)
      const readLatency = () => Math.round(performance.now() - startedAt)
      const toEvent = (bill: Bill, latencyMs: number): Timed =>
        toTimed({ generationId, spender, agentId, endpoint, endUser, tags, latencyMs, at: deps.clock.now() }, bill)
      // Both in one turn of the event loop, so that no other call can reserve the spent amount.
      const recordBill = (bill: Bill, latencyMs: number) => {
        reservation.release()
        deps.usage.record(toEvent(bill, latencyMs))
      }

      const spending: Spending = {
        generationId,
        isTight: reservation.isTight,
        record(bill) {
          if (isFirstEnd()) recordBill(bill, readLatency())
        },
        recordLater(bill) {
          if (!isFirstEnd()) return
          const latencyMs = readLatency()
          deps.usage.expect(bill.then((counted) => recordBill(counted, latencyMs)))
        },
        cancel() {
          hasFalseLine ||= underWay.get(generationId)?.isNoted ?? false
          if (isFirstEnd()) reservation.release()
        },
      }
      underWay.set(generationId, {
        end: () => spending.recordLater(last.count()),
        toLine: () => toEvent(last.reserve(), readLatency()),
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
        await (mustReplace ? deps.underWay.replace(events) : deps.underWay.add(events))
      } catch (error) {
        hasFalseLine = true
        throw error
      }
    },
    async endAll() {
      for (const { end } of [...underWay.values()]) end()
      await deps.usage.settle()
      // A leader that has handed over cannot write any more; its successor has recorded the calls.
      await deps.underWay.replace([]).catch((error) => deps.log.warn(`[UsageLogger] ${errorMessage(error)}`))
    },
  }
}

type Call = Pick<UsageEvent, 'generationId' | 'latencyMs'> &
  Pick<SpendingOrder, 'spender' | 'agentId' | 'endpoint'> &
  Required<Pick<SpendingOrder, 'endUser' | 'tags'>> & { at: Date }

/** Copies field by field: spreading a bill takes several times as long, and every call has one. */
function toTimed(call: Call, bill: Bill): Timed {
  const { userId, key } = call.spender
  return {
    generationId: call.generationId,
    userId,
    agentId: call.agentId,
    keyId: key?.id ?? null,
    endpoint: call.endpoint,
    latencyMs: call.latencyMs,
    endUser: call.endUser,
    tags: call.tags,
    at: call.at,
    model: bill.model,
    provider: bill.provider,
    attempts: bill.attempts,
    isOwnKey: bill.isOwnKey,
    inputTokens: bill.inputTokens,
    cachedInputTokens: bill.cachedInputTokens,
    cacheCreationTokens: bill.cacheCreationTokens,
    cacheCreationHourTokens: bill.cacheCreationHourTokens,
    outputTokens: bill.outputTokens,
    costMicroUsd: bill.costMicroUsd,
    isEstimated: bill.isEstimated,
    errorMessage: bill.errorMessage,
    firstTokenMs: bill.firstTokenMs ?? null,
    priceSource: bill.priceSource ?? null,
    finishReason: bill.finishReason ?? null,
    callId: bill.callId ?? null,
    trail: bill.trail ?? null,
    listCostMicroUsd: bill.listCostMicroUsd ?? null,
  }
}

async function confirm({ usage, db }: { usage: UsageRecorder; db: Db }): Promise<void> {
  await usage.flush()
  requireWrites(db)
}

/** @throws AppError `unavailable` in a cluster without its log. */
function requireWrites(db: Db): void {
  const refusal = findWriteRefusal(db)
  if (refusal) throw refusal
}
