import {
  type Completion,
  type CompletionChunk,
  ProviderError,
  type TokenUsage,
  type ToolUses,
} from '../../../adapters/models/provider.ts'
import type { TokenCounter } from '../../../adapters/models/token-counter.ts'
import type { TokenCount } from '../../../adapters/models/token-parser.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { type MicroUsd, tokenCost, toMicroUsd } from '../../../core/money.ts'
import { PLANS } from '../../accounts/plans/plans.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import type { Attribution } from '../requests/attribution.ts'
import type { BodyLog } from '../requests/bodies.ts'
import { UNCACHED } from '../usage/rows/event.ts'
import type { Bill, SpendingOrder, Spendings } from '../usage/spend.ts'
import type { PriceSource, TrailStep } from '../usage/tables.ts'
import { type Caller, type CompletionRequest, keepsBodies, type RequestSize } from './request-body.ts'
import { reservedToolCost, type ToolSize, toolCost } from './tools/built-in-tools.ts'

export type AttemptDeps = { spendings: Spendings; tokens: TokenCounter; bodyLog: Pick<BodyLog, 'add'> }
/** One request to one model; `number` counts the attempts of a call from 1, `trail` is shared by them. */
export type AttemptOrder = {
  request: CompletionRequest
  size: RequestSize
  tools: ToolSize
  target: CatalogueModel
  number: number
  trail: Trail
}

/** The attempts of a call so far, and the generation id of the first. */
export type Trail = Attribution & { callId: string | null; steps: TrailStep[] }

/** Usage and cost of a complete answer. The cost may be unknown. `isEstimated`: the provider reported no usage. */
export type Billed = { usage: TokenUsage; costMicroUsd: MicroUsd | null; isEstimated: boolean }

/** A complete answer: its text as sent to the caller, its output, and its usage if reported. */
type Answered = Pick<Completion, 'json' | 'said' | 'usage' | 'finishReason' | 'toolUses'>

/** A request to a provider, from its reservation to its usage record. Exactly one of the last six functions ends it. */
export type Attempt = {
  generationId: string
  isTight: boolean
  /** Adds a chunk of a streamed answer. */
  hear(chunk: CompletionChunk): void
  /** Records a complete answer. */
  succeed(answer: Answered): Promise<Billed>
  /** Records a complete answer that the caller does not get, because a guardrail blocked it. */
  withhold(answer: Answered, error: unknown): void
  /** Records a streamed answer that was read to its end. @returns the counted usage, or null when the provider reported it. */
  finish(): Promise<TokenUsage> | null
  /** Records the possible cost of a failure. @returns false when it cost nothing; then the attempt is still open. */
  fail(error: unknown): boolean
  /** Records a failure without cost. */
  giveUp(error: unknown): void
  cancel(): void
}

const NOTHING: TokenUsage = { ...UNCACHED, inputTokens: 0, outputTokens: 0, costUsd: null }

/** Why an attempt failed. */
type Failed = Pick<TrailStep, 'failure' | 'error'>

const STOPPED: Failed = { failure: 'stopped', error: 'The program stopped before the answer was complete' }

/** @throws AppError `limited` when a limit of the caller does not allow it. */
export function beginAttempt(deps: AttemptDeps, order: AttemptOrder): Attempt {
  const { request, trail } = order
  const { caller } = request
  const heard = toUnheard()
  const earlier = trail.steps.length === 0 ? null : [...trail.steps]
  const account: Account = { tokens: deps.tokens, order, heard, earlier }
  const logBodies = (answer: string | null) => {
    if (!keepsBodies(caller)) return
    const { generationId } = heard
    deps.bodyLog.add({ generationId, userId: caller.userId, request: request.json, answer })
  }
  const spending = deps.spendings.begin(toSpendingOrder(order), {
    count: () => toCutBill(account, STOPPED),
    reserve: () => toReservedBill(account, STOPPED),
  })
  heard.generationId = spending.generationId
  trail.callId ??= spending.generationId
  return {
    generationId: spending.generationId,
    isTight: spending.isTight,
    hear(chunk) {
      heard.reported = chunk.usage ?? heard.reported
      heard.said += chunk.said
      heard.finishReason = chunk.finishReason ?? heard.finishReason
      heard.toolUses = chunk.toolUses ?? heard.toolUses
      if (heard.firstTokenMs === null && chunk.isAnswer) heard.firstTokenMs = sinceMs(heard.startedAt)
    },
    async succeed(answer) {
      heard.said = answer.said
      heard.toolUses = answer.toolUses
      heard.finishReason = answer.finishReason ?? null
      logBodies(answer.json)
      const used = answer.usage ?? (await countUsage(account))
      const bill = toBill(account, used, answer.usage === null, null)
      spending.record(bill)
      return { usage: used, costMicroUsd: bill.costMicroUsd, isEstimated: bill.isEstimated }
    },
    withhold(answer, error) {
      heard.said = answer.said
      heard.reported = answer.usage
      heard.toolUses = answer.toolUses
      heard.finishReason = answer.finishReason ?? null
      logBodies(answer.json)
      const failed = toFailed(error)
      trail.steps.push(toStep(account, spending.generationId, failed))
      spending.recordLater(toCutBill(account, failed))
    },
    finish() {
      logBodies(heard.said)
      if (heard.reported !== null) {
        spending.record(toBill(account, heard.reported, false, null))
        return null
      }
      const counted = countUsage(account)
      spending.recordLater(counted.then((used) => toBill(account, used, true, null)))
      return counted
    },
    fail(error) {
      if (error instanceof ProviderError) heard.reported ??= error.usage
      const failed = toFailed(error)
      const isRefusal = error instanceof ProviderError && !error.isSpent
      if (isRefusal && heard.reported === null && heard.said === '') {
        trail.steps.push(toStep(account, null, failed))
        return false
      }
      trail.steps.push(toStep(account, spending.generationId, failed))
      logBodies(heard.said === '' ? null : heard.said)
      spending.recordLater(toCutBill(account, failed))
      return true
    },
    giveUp(error) {
      logBodies(null)
      spending.record(toBill(account, NOTHING, false, toFailed(error)))
    },
    cancel: spending.cancel,
  }
}

/** The part of an answer that an attempt has received so far. */
type Heard = {
  generationId: string
  startedAt: number
  firstTokenMs: number | null
  finishReason: string | null
  reported: TokenUsage | null
  toolUses: ToolUses | undefined
  said: string
}

function toUnheard(): Heard {
  return {
    generationId: '',
    startedAt: performance.now(),
    firstTokenMs: null,
    finishReason: null,
    reported: null,
    toolUses: undefined,
    said: '',
  }
}

/** An attempt as its bill sees it; `earlier` are the attempts before it, if any. */
type Account = Pick<AttemptDeps, 'tokens'> & {
  order: AttemptOrder
  heard: Heard
  earlier: readonly TrailStep[] | null
}

function toStep({ order, heard }: Account, generationId: string | null, failed: Failed | null): TrailStep {
  const { target } = order
  return {
    generationId,
    model: target.id,
    provider: target.provider.id,
    latencyMs: sinceMs(heard.startedAt),
    failure: failed?.failure ?? null,
    error: failed?.error ?? null,
  }
}

function toBill(
  account: Account,
  used: TokenUsage,
  isEstimated: boolean,
  failed: Failed | null,
  toolMicroUsd = toolCost(account.order.target, account.order.request.body, account.heard.toolUses),
): Bill {
  const { order, heard, earlier } = account
  const { target, number, trail } = order
  return {
    model: target.id,
    provider: target.provider.id,
    attempts: number,
    isOwnKey: target.paidBy !== null,
    inputTokens: used.inputTokens,
    cachedInputTokens: used.cachedInputTokens,
    cacheCreationTokens: used.cacheCreationTokens,
    cacheCreationHourTokens: used.cacheCreationHourTokens,
    outputTokens: used.outputTokens,
    costMicroUsd: costOf(target, used, toolMicroUsd),
    isEstimated,
    errorMessage: failed?.error ?? null,
    firstTokenMs: heard.firstTokenMs,
    finishReason: heard.finishReason,
    priceSource: priceSourceOf(target, used.costUsd),
    listCostMicroUsd: listCostOf(target, used, toolMicroUsd),
    callId: number > 1 ? trail.callId : null,
    trail: earlier && [...earlier, toStep(account, heard.generationId, failed)],
  }
}

function countAll({ tokens, order, heard }: Account): Promise<TokenCount> {
  return tokens.count({ request: order.request.json, said: heard.said })
}

async function countUsage(account: Account): Promise<TokenUsage> {
  const { input, output } = await countAll(account)
  return { ...NOTHING, inputTokens: input, outputTokens: output }
}

async function toCutBill(account: Account, failed: Failed): Promise<Bill> {
  const { reported, said } = account.heard
  if (reported !== null && said === '') return toBill(account, reported, false, failed)
  const { used, isEstimated } = toCutUsage(reported, said, await countAll(account), account.order.size)
  return toBill(account, used, isEstimated, failed)
}

function toReservedBill(account: Account, failed: Failed): Bill {
  const { inputTokens, outputTokens } = account.order.size
  const used = { ...NOTHING, inputTokens, outputTokens }
  return toBill(account, used, true, failed, toReservedToolCost(account.order))
}

function toSpendingOrder(order: AttemptOrder): SpendingOrder {
  const { request, size, target, trail } = order
  const { caller, endpoint } = request
  return {
    spender: toSpender(caller, target),
    agentId: caller.agentId,
    endpoint,
    endUser: trail.endUser,
    tags: trail.tags,
    estimate: {
      tokens: size.inputTokens + size.outputTokens,
      costMicroUsd: (target.price ? tokenCost(size, target.price) : 0) + toReservedToolCost(order),
    },
  }
}

function toReservedToolCost({ request: { translator, body }, target, tools }: AttemptOrder): MicroUsd {
  return reservedToolCost(target, translator?.dialect ?? 'chat', body, tools)
}

/**
 * Estimates the usage of a call that was cut off: the reported usage, else the tokens received, else the reserved tokens. An
 * early report may cover less than was received afterwards.
 */
function toCutUsage(reported: TokenUsage | null, said: string, counted: TokenCount, size: RequestSize) {
  const outputTokens = said === '' ? size.outputTokens : counted.output
  if (reported === null) return { used: { ...NOTHING, inputTokens: counted.input, outputTokens }, isEstimated: true }
  if (reported.outputTokens >= outputTokens) return { used: reported, isEstimated: false }
  return { used: { ...reported, outputTokens, costUsd: null }, isEstimated: true }
}

/** Calls with a user's own provider key count against the key's limits but not against the plan. */
function toSpender(caller: Caller, { paidBy }: CatalogueModel): Caller {
  return paidBy === null ? caller : { ...caller, plan: PLANS.network }
}

/** Prefers the administrator's price, then the cost that the provider reports, then the list price; else null. */
function costOf({ price, isPriceSet }: CatalogueModel, usage: TokenUsage, toolMicroUsd: MicroUsd): MicroUsd | null {
  if (usage.costUsd !== null && !isPriceSet) return toMicroUsd(usage.costUsd)
  if (price) return tokenCost(usage, price) + toolMicroUsd
  return usage.inputTokens + usage.outputTokens === 0 ? 0 : null
}

/** Returns the cost by list prices of a call whose cost the provider reported, so that the two can be compared. */
function listCostOf({ price, isPriceSet }: CatalogueModel, usage: TokenUsage, toolMicroUsd: MicroUsd): MicroUsd | null {
  return usage.costUsd !== null && price && !isPriceSet ? tokenCost(usage, price) + toolMicroUsd : null
}

/** Names the origin of what `costOf` returns. */
function priceSourceOf({ price, isPriceSet }: CatalogueModel, costUsd: number | null): PriceSource | null {
  if (costUsd !== null && !isPriceSet) return 'provider'
  if (price) return isPriceSet ? 'administrator' : 'list'
  return null
}

function toFailed(error: unknown): Failed {
  return { failure: toFailure(error), error: errorMessage(error) }
}

function toFailure(error: unknown): string {
  if (error instanceof ProviderError) return error.failure
  return error instanceof AppError && error.extra.code === 'GUARDRAIL_BLOCKED' ? 'blocked' : 'aborted'
}

function sinceMs(startedAt: number): number {
  return Math.round(performance.now() - startedAt)
}
