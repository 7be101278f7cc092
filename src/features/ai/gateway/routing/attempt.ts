import { type CompletionChunk, ProviderError, type TokenUsage } from '../../../../adapters/models/provider.ts'
import type { TokenCounter } from '../../../../adapters/models/token-counter.ts'
import type { TokenCount } from '../../../../adapters/models/token-parser.ts'
import { errorMessage } from '../../../../core/errors.ts'
import { type MicroUsd, tokenCost, toMicroUsd } from '../../../../core/money.ts'
import { PLANS } from '../../../accounts/plans/plans.ts'
import type { Bill, Spendings } from '../../usage/spend.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import type { Caller, CompletionRequest } from '../requests/completion-request.ts'
import type { RequestSize } from '../requests/size.ts'

export type AttemptDeps = { spendings: Spendings; tokens: TokenCounter }
/** One request to one model; `number` counts those of a call from 1. */
export type AttemptOrder = {
  request: CompletionRequest
  size: RequestSize
  target: CatalogueModel
  number: number
}

/** What a whole answer used and cost; null when the cost is not known. `isEstimated`: the provider has not said, so it was counted. */
export type Billed = { usage: TokenUsage; costMicroUsd: MicroUsd | null; isEstimated: boolean }

/**
 * A request under way, from what is set aside for it to what is booked: `succeed`, `finish`, `fail`, `giveUp` or `cancel`
 * ends it.
 */
export type Attempt = {
  generationId: string
  isTight: boolean
  /** Takes in a piece of a streamed answer. */
  hear(chunk: CompletionChunk): void
  /** Books a whole answer. */
  succeed(answer: { usage: TokenUsage | null; said: string }): Promise<Billed>
  /** Books an answer that was heard to its end. */
  finish(): void
  /** Books what a failed one may have cost. @returns false when that is nothing; then it has not ended yet. */
  fail(error: unknown): boolean
  /** Books that it failed and cost nothing. */
  giveUp(error: unknown): void
  cancel(): void
}

const NOTHING: TokenUsage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, costUsd: null }

const STOPPED = 'The program stopped before the answer was complete'

/** @throws AppError `limited` when a limit of the caller does not allow it. */
export function beginAttempt(deps: AttemptDeps, { request, size, target, number }: AttemptOrder): Attempt {
  const { caller, endpoint } = request
  let reported: TokenUsage | null = null
  let said = ''

  const toBill = (used: TokenUsage, isEstimated: boolean, message: string | null): Bill => ({
    model: target.id,
    provider: target.provider.id,
    attempts: number,
    isOwnKey: target.paidBy !== null,
    inputTokens: used.inputTokens,
    outputTokens: used.outputTokens,
    costMicroUsd: costOf(target, used),
    isEstimated,
    errorMessage: message,
  })
  const countAll = () => deps.tokens.count({ request: request.json, said })
  const countUsage = async (): Promise<TokenUsage> => {
    const { input, output } = await countAll()
    return { ...NOTHING, inputTokens: input, outputTokens: output }
  }
  const toCutBill = async (message: string): Promise<Bill> => {
    if (reported !== null && said === '') return toBill(reported, false, message)
    const { used, isEstimated } = toCutUsage(reported, said, await countAll(), size)
    return toBill(used, isEstimated, message)
  }

  const spending = deps.spendings.begin(
    {
      spender: toSpender(caller, target),
      agentId: caller.agentId,
      endpoint,
      estimate: {
        tokens: size.inputTokens + size.outputTokens,
        costMicroUsd: target.price ? tokenCost(size, target.price) : 0,
      },
    },
    {
      count: () => toCutBill(STOPPED),
      reserve: () =>
        toBill({ ...NOTHING, inputTokens: size.inputTokens, outputTokens: size.outputTokens }, true, STOPPED),
    },
  )

  return {
    generationId: spending.generationId,
    isTight: spending.isTight,
    hear(chunk) {
      reported = chunk.usage ?? reported
      said += chunk.said
    },
    async succeed(answer) {
      said = answer.said
      const used = answer.usage ?? (await countUsage())
      const bill = toBill(used, answer.usage === null, null)
      spending.book(bill)
      return { usage: used, costMicroUsd: bill.costMicroUsd, isEstimated: bill.isEstimated }
    },
    finish() {
      if (reported !== null) spending.book(toBill(reported, false, null))
      else spending.bookLater(countUsage().then((used) => toBill(used, true, null)))
    },
    fail(error) {
      if (error instanceof ProviderError) reported ??= error.usage
      const isRefusal = error instanceof ProviderError && !error.isSpent
      if (isRefusal && reported === null && said === '') return false
      spending.bookLater(toCutBill(errorMessage(error)))
      return true
    },
    giveUp: (error) => spending.book(toBill(NOTHING, false, errorMessage(error))),
    cancel: spending.cancel,
  }
}

/**
 * What a call used that ended before its answer did: what was reported, else what was received, else as much as it may
 * have been. A report that came early may say less than what was received since.
 */
function toCutUsage(reported: TokenUsage | null, said: string, counted: TokenCount, size: RequestSize) {
  const outputTokens = said === '' ? size.outputTokens : counted.output
  if (reported === null) return { used: { ...NOTHING, inputTokens: counted.input, outputTokens }, isEstimated: true }
  if (reported.outputTokens >= outputTokens) return { used: reported, isEstimated: false }
  return { used: { ...reported, outputTokens, costUsd: null }, isEstimated: true }
}

/** What users pay for themselves counts against no plan; a key's own limits hold all the same. */
function toSpender(caller: Caller, { paidBy }: CatalogueModel): Caller {
  return paidBy === null ? caller : { ...caller, plan: PLANS.network }
}

/** A price that an administrator set comes first, then the cost that the provider reports, then the list price; else null. */
function costOf({ price, isPriceSet }: CatalogueModel, usage: TokenUsage): MicroUsd | null {
  if (usage.costUsd !== null && !isPriceSet) return toMicroUsd(usage.costUsd)
  if (price) return tokenCost(usage, price)
  return usage.inputTokens + usage.outputTokens === 0 ? 0 : null
}
