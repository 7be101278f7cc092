import type { SignedInUser } from '../../../http/env.ts'

/**
 * The body as it came, and the user who pays, null without an account. `signal` aborts when the work takes too long, and
 * never because the caller hung up.
 */
export type PluginCall = { body: Record<string, unknown>; user: SignedInUser | null; signal: AbortSignal }

/**
 * Work that is paid for by the request. `run` throws AppError when it could not be done: then the payment goes back.
 * `check` refuses a body that cannot be worked on, before anything is paid.
 */
export type Plugin = {
  name: string
  description: string
  priceMicroUsd: number
  check(call: Omit<PluginCall, 'signal'>): void
  run(call: PluginCall): Promise<Record<string, unknown>>
}
export type Plugins = ReadonlyMap<string, Plugin>
