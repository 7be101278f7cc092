import type { MicroUsd } from '../../../../core/money.ts'
import type { PriceSource, TrailStep } from '../tables.ts'

/**
 * Facts for the request log. `firstTokenMs` is the time to the first chunk of a streamed answer. `callId` is the generation
 * id of the first attempt, and `trail` lists the attempts so far; both are null for a call's first attempt. `tags` are
 * distinct.
 */
type CallDetail = {
  firstTokenMs: number | null
  priceSource: PriceSource | null
  finishReason: string | null
  callId: string | null
  trail: readonly TrailStep[] | null
  endUser: string | null
  tags: readonly string[] | null
}

/**
 * One completion, successful or not. `generationId` makes the record unique and is returned to the caller. `model` and
 * `provider` served the call, or were tried first when none did. `isOwnKey`: the user's own provider key paid. `isEstimated`:
 * the tokens were counted or reserved because no provider reported them. `costMicroUsd` is null when unknown.
 */
export type UsageEvent = {
  generationId: string
  keyId: string | null
  provider: string
  attempts: number
  isOwnKey: boolean
  isEstimated: boolean
  userId: string
  agentId: string
  model: string
  /** All prompt tokens, those read from the provider's cache or written to it included. */
  inputTokens: number
  cachedInputTokens: number
  cacheCreationTokens: number
  cacheCreationHourTokens: number
  outputTokens: number
  costMicroUsd: MicroUsd | null
  endpoint: string
  latencyMs: number
  errorMessage: string | null
  /** The cost by list prices of a call whose cost the provider reported; null when one of them is unknown. */
  listCostMicroUsd?: MicroUsd | null
} & Partial<CallDetail>

/** Cache tokens of a call that used no provider's cache. */
export const UNCACHED = { cachedInputTokens: 0, cacheCreationTokens: 0, cacheCreationHourTokens: 0 } as const

/** An event with its time. */
export type Timed = UsageEvent & { at: Date }
