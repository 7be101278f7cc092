import type { MicroUsd } from '../../../../core/money.ts'

/**
 * One completion, successful or not. `generationId` is told to the caller as well, and is recorded once. `model` and
 * `provider` are those that served it, or the first asked when none did; `endpoint` is the route that produced it.
 * `isOwnKey`: the user paid the provider directly, so it counts against no plan. `isEstimated`: nobody reported what was
 * used, so it was counted from what was received, or is as much as was set aside. `costMicroUsd` is null when the cost is not
 * known.
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
  inputTokens: number
  outputTokens: number
  costMicroUsd: MicroUsd | null
  endpoint: string
  latencyMs: number
  errorMessage: string | null
}

/** An event and when it happened. */
export type Timed = UsageEvent & { at: Date }
