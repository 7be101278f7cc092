import type { KeyLimits } from '../../../accounts/keys/limits.ts'
import type { Plan } from '../../../accounts/plans/plans.ts'
import type { Budget } from '../../usage/quota.ts'
import type { Wish } from '../routing/route.ts'

/**
 * Who pays for a call and what limits it: the plan, the key when it has limits of its own, and a budget where a route has
 * one. Calls of no agent are booked under `direct`.
 */
export type Caller = {
  userId: string
  agentId: string
  plan: Plan
  key: KeyLimits | null
  /** The provider that is asked first with the platform's keys; null where nobody chose one. */
  aiProvider: string | null
  budget?: Budget
}

/** `json` is the body as the caller sent it; it goes on untouched when the provider knows the model by the same name. */
export type CompletionRequest = {
  caller: Caller
  wish: Wish
  body: Readonly<Record<string, unknown>>
  json: string
  endpoint: string
  signal: AbortSignal
}
