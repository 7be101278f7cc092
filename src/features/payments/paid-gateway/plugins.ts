import type { SignedInUser } from '../../../http/env.ts'

/**
 * The request body and the paying user, null without an account. `signal` aborts when the work takes too long, not when
 * the caller disconnects.
 */
export type PluginCall = { body: Record<string, unknown>; user: SignedInUser | null; signal: AbortSignal }

/**
 * Work paid by the request. `run` throws AppError when it fails, which refunds the payment. `check` rejects invalid
 * bodies before payment.
 */
export type Plugin = {
  name: string
  description: string
  priceMicroUsd: number
  check(call: Omit<PluginCall, 'signal'>): void
  run(call: PluginCall): Promise<Record<string, unknown>>
}
export type Plugins = ReadonlyMap<string, Plugin>
